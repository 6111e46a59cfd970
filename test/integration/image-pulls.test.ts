/**
 * Image pulls as operators see them: from a registry that requires credentials, beside other pulls, from a registry
 * that dies, and onto a full disk. The tests check what the pod shows while it waits, and how soon it continues when
 * the cause is gone.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { secrets } from "../../src/api/resources.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { ClusterPods, podOn, SLEEPER } from "../support/cluster-pods.ts";

/** The time promised to operators; half of it allows for the machine, which is loaded. */
const SOON_MS = 4_000;
const forever = new AbortController().signal;

let cluster: Cluster;
let node: ClusterNode;
let pods: ClusterPods;

before(async () => {
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand", criProxy: true }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  pods = await ClusterPods.of(cluster);
});

after(async () => {
  await pods.close();
  await cluster.down();
});

const podWith = (name: string, repository: string, more: Partial<NonNullable<Pod["spec"]>> = {}): Pod => {
  const image = `${cluster.registry.guarded}/deckhand/served-${repository}:1`;
  return podOn(node.name, name, { containers: [{ ...SLEEPER, image }], ...more });
};

const waitingOf = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting;
const isRunning = ({ status }: Pod) => status?.phase === "Running";

const logins = () => {
  const { guarded, username, password } = cluster.registry;
  return JSON.stringify({ auths: { [guarded]: { username, password } } });
};

void suite("pulls from a guarded registry", () => {
  test("[9.3] [9.5] a pod without its pull Secret shows the registry's error, and starts as soon as the Secret exists", async () => {
    await pods.create(podWith("early", "1", { imagePullSecrets: [{ name: "key" }] }));
    const held = await pods.first("early", "held back", (pod) => waitingOf(pod)?.reason === "ImagePullBackOff");
    const { message = "" } = waitingOf(held) ?? {};
    assert.match(message, /^Back-off pulling image ".*": ErrImagePull: /);
    assert.match(message, /authorization failed: no basic auth credentials/);
    assert.match(message, /; next try at \d{4}-\d\d-\d\dT[\d:]+Z$/);
    const events = await pods.eventsOf("early");
    const missing = events.find(({ reason }) => reason === "FailedToRetrieveImagePullSecret");
    assert.match(missing?.message ?? "", /\(key\)/);
    const key = {
      metadata: { namespace: "default", name: "key" },
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": btoa(logins()) },
    };
    const beginMs = performance.now();
    await pods.api.create(secrets, key, forever);
    await pods.first("early", "running", isRunning, 60_000);
    const tookMs = performance.now() - beginMs;
    assert.ok(tookMs < SOON_MS, `${tookMs} ms: the back-off would have lasted 10 s`);
  });

  test("[9.6] [27.1.33] the node's registry credentials are used for a pod without its own, from the next pull on", async () => {
    await pods.create(podWith("without", "2"));
    await pods.first("without", "refused", (pod) => (waitingOf(pod)?.message ?? "").includes("authorization failed"));
    await writeFile(node.inside("/var/lib/kubelet/config.json"), logins());
    await pods.create(podWith("with", "3"));
    await pods.first("with", "running", isRunning);
    await pods.first("without", "running too, when it tries again", isRunning);
  });
});

const openImage = (index: number): string => `${cluster.registry.open}/deckhand/served-${index}:1`;
const pulling = (name: string, index: number): Pod =>
  podOn(node.name, name, { containers: [{ ...SLEEPER, image: openImage(index) }] });
const isPulled = (index: number) =>
  node.criProxy?.calls.some(
    ({ method, request, code }) =>
      method === "PullImage" && code === 0 && (request as PullImageRequest).image?.image === openImage(index),
  );
const failedPull = (words: RegExp) => (pod: Pod) => {
  const { reason = "", message = "" } = waitingOf(pod) ?? {};
  return /^(?:ErrImagePull|ImagePullBackOff)$/.test(reason) && words.test(message);
};
/** A back-off of 10 s, plus the delay of a loaded machine. */
const NEXT_TRY_MS = 60_000;

void suite("parallel pulls, and pulls that fail", () => {
  test("[9.4] at most maxParallelImagePulls pulls run at once", async () => {
    const configuration = { serializeImagePulls: false, maxParallelImagePulls: 2 };
    await cluster.changeAgent(node.name, "deckhand", { configuration });
    const held: PromiseWithResolvers<void>[] = [];
    let most = 0;
    const unhook = node.criProxy?.hook("PullImage", {
      before: () => {
        const hold = Promise.withResolvers<void>();
        held.push(hold);
        most = Math.max(most, held.length);
        return hold.promise;
      },
    });
    const release = () => held.splice(0).forEach(({ resolve }) => resolve());
    try {
      const indexes = [10, 11, 12, 13, 14];
      for (const index of indexes) await pods.create(pulling(`parallel-${index}`, index));
      await waitUntil("two pulls to be under way", 30_000, async () => held.length === 2);
      await pause(2_000);
      assert.equal(most, 2, "the others wait");
      for (const index of indexes) {
        await waitUntil(`the pull of ${index}`, 30_000, async () => {
          release();
          return isPulled(index) === true;
        });
      }
      for (const index of indexes) await pods.running(`parallel-${index}`);
      assert.equal(most, 2);
    } finally {
      unhook?.();
      release();
    }
  });

  test("[9.3] [9.5] a registry that dies during a pull fails the pull, and the pod runs once the registry is back", async () => {
    const registry = cluster.component("registry");
    await registry.pause();
    await pods.create(pulling("orphaned", 15));
    await waitUntil("the pull to begin", 30_000, async () =>
      (await pods.eventsOf("orphaned")).some(({ reason }) => reason === "Pulling"),
    );
    await pause(1_000);
    await registry.kill();
    try {
      await pods.first("orphaned", "refused", failedPull(/EOF|reset|refused|closed/), NEXT_TRY_MS);
    } finally {
      await registry.restart();
    }
    await pods.first("orphaned", "running", isRunning, NEXT_TRY_MS);
  });

  test("[9.3] [9.5] a full disk of the runtime fails the pull with its cause, and the pod runs once there is space", async () => {
    const ingest = "/var/lib/containerd/io.containerd.content.v1.content/ingest";
    await node.run("mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", ingest);
    try {
      await pods.create(pulling("no-room", 16));
      await pods.first("no-room", "refused", failedPull(/no space left on device/), NEXT_TRY_MS);
    } finally {
      await node.run("umount", ingest);
    }
    await pods.first("no-room", "running", isRunning, NEXT_TRY_MS);
  });
});

interface PullImageRequest {
  readonly image?: { readonly image?: string };
}
