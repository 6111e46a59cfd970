/**
 * One node whose agent changes under running pods: from the Go kubelet to Deckhand and back, in the same directories.
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Pod, PodSpec, PodStatus } from "../../src/api/gen/core-v1.ts";
import { CONFIG_HASH } from "../../src/domain/pod/pod-identity.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { auditOf, readyFlips } from "../support/audit.ts";
import { OutsideOracle } from "../support/outside-oracle.ts";
import { LASTING, lastingPod, NODE, NODE_USER } from "../support/survival-world.ts";

const STATIC_UID = "5c1e0f5e-2d0b-4f4f-9b60-6f0d4f2f0a11";
/** As long as an agent needs to inspect everything twice. */
const SETTLE_MS = 8_000;

const app = (resources: object = {}, name = "app") => ({
  name,
  image: BUSYBOX_IMAGE,
  command: [...LASTING],
  resources,
});

const SPECS: Readonly<Record<string, Partial<PodSpec>>> = {
  "best-effort": {},
  burstable: {
    containers: [app({ requests: { cpu: "10m", memory: "16Mi" } }), app({ limits: { memory: "64Mi" } }, "second")],
  },
  guaranteed: { containers: [app({ limits: { cpu: "100m", memory: "32Mi" } })] },
  "host-network": { hostNetwork: true },
  "with-ports": {
    containers: [{ ...app(), ports: [{ containerPort: 8080, name: "web", hostPort: 18080 }] }],
    shareProcessNamespace: true,
    securityContext: { runAsUser: 1000, fsGroup: 2000 },
  },
  restarted: {},
};

const FINISHED: Partial<PodSpec> = {
  restartPolicy: "Never",
  containers: [{ name: "app", image: BUSYBOX_IMAGE, command: ["sh", "-c", "echo done; exit 0"] }],
};

const manifest = (name: string, uid?: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "kube-system",
    labels: { tier: "control-plane" },
    ...(uid === undefined ? {} : { uid }),
  },
  spec: { hostNetwork: true, priorityClassName: "system-node-critical", containers: [app()] },
});

interface Kept {
  readonly status: unknown;
  readonly uid: string | undefined;
  readonly annotations: unknown;
}

/** The name of a static pod whose UID Deckhand chooses. */
const OURS = "made-by-ours";
/** Pods that the test itself terminates once; their readiness may change. */
const MAY_FLIP: ReadonlySet<string> = new Set(["after-go", "after-ours", "restarted", "finished", `${OURS}-${NODE}`]);

/**
 * Compares only phase and container statuses: at each start the Go kubelet publishes new times of static pods, a new
 * address of a finished pod, and new resources of the pod.
 */
const ofContainers = (pod: Kept | undefined) => {
  const { phase, containerStatuses } = (pod?.status ?? {}) as PodStatus;
  return { ...pod, status: { phase, containerStatuses } };
};

describe("a node changes its agent under running pods", () => {
  let cluster: Cluster;
  let oracle: OutsideOracle;
  let pods: ReadonlyMap<string, Kept>;
  let manifests: string;
  let node: Kept;
  let lease: { readonly uid: string; readonly renewTime: string };

  const get = async <T>(...args: readonly string[]) =>
    JSON.parse(await cluster.kubectl("get", ...args, "-o", "json")) as T;
  const list = async () => (await get<{ items: readonly Pod[] }>("pods", "-A")).items;
  const kept = ({ metadata, status }: Pod): Kept => ({
    status,
    uid: metadata?.uid,
    annotations: metadata?.annotations,
  });
  const byName = async () => new Map((await list()).map((pod) => [pod.metadata?.name ?? "", kept(pod)]));
  const readLease = async () => {
    const { metadata, spec } = await get<{
      metadata: { uid: string };
      spec: { renewTime: string; holderIdentity: string };
    }>("lease", NODE, "-n", "kube-node-lease");
    assert.equal(spec.holderIdentity, NODE);
    return { uid: metadata.uid, renewTime: spec.renewTime };
  };
  const readNode = async () => kept(await get<Pod>("node", NODE));

  const runs = async (name: string, spec: Partial<PodSpec> = {}) => {
    const file = join(cluster.layout.directory, `${name}.json`);
    await writeFile(file, JSON.stringify(lastingPod(name, spec)));
    await cluster.kubectl("apply", "-f", file);
  };

  before(async () => {
    cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "go" }] });
    oracle = await OutsideOracle.start(cluster, NODE);
    manifests = join(cluster.nodes[0]?.directory ?? "", "manifests");
    await mkdir(manifests, { recursive: true });
    await writeFile(join(manifests, "own.json"), JSON.stringify(manifest("own")));
    await writeFile(join(manifests, "given.json"), JSON.stringify(manifest("given", STATIC_UID)));
    for (const [name, spec] of Object.entries(SPECS)) await runs(name, spec);
    await runs("finished", FINISHED);
    await cluster.kubectl("wait", "--for=condition=Ready", "pod", ...Object.keys(SPECS), "--timeout=120s");
    await cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/finished", "--timeout=60s");
    await waitUntil("the mirrors to be Ready", 60_000, async () => {
      const ready = (await list()).filter((pod) =>
        pod.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True"),
      );
      return ready.filter((pod) => pod.metadata?.namespace === "kube-system").length === 2;
    });
    oracle.mayEnd((await byName()).get("finished")?.uid ?? "");
    await restartOnce("restarted");
    [pods, node, lease] = [await byName(), await readNode(), await readLease()];
  });

  after(async () => {
    oracle.stop();
    await cluster.down();
  });

  /** Restarts the container once, so that there is a restart count to keep. */
  async function restartOnce(name: string): Promise<void> {
    const uid = (await byName()).get(name)?.uid ?? "";
    const restarts = "jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].ready}";
    oracle.mayEnd(uid);
    oracle.killContainers(uid);
    await waitUntil(
      "the restart",
      60_000,
      async () => (await cluster.kubectl("get", "pod", name, "-o", restarts)) === "1 true",
    );
    await pause(1_000);
  }

  /** Asserts that the agent works: it renews the lease, and a new pod runs and is deleted. */
  async function atWork(name: string): Promise<void> {
    const renewed = (await readLease()).renewTime;
    await runs(name);
    await cluster.kubectl("wait", "--for=condition=Ready", `pod/${name}`, "--timeout=90s");
    await waitUntil("the lease to be renewed", 60_000, async () => (await readLease()).renewTime > renewed, 500);
    const uid = (await byName()).get(name)?.uid ?? "";
    oracle.mayEnd(uid);
    await cluster.kubectl("delete", "pod", name, "--timeout=60s");
    await pause(SETTLE_MS);
  }

  /**
   * Asserts that the pods, the Node and its lease are unchanged, and that no container was doubled, lost or restarted
   * by an agent.
   */
  async function untouched(of: (pod: Kept | undefined) => unknown): Promise<void> {
    const now = await byName();
    const found = [...pods].flatMap(([name, before]) => {
      const [was, is] = [before, now.get(name)].map((pod) => JSON.stringify(of(pod)));
      return was === is ? [] : [`${name}\n    was ${was}\n    is  ${is}`];
    });
    assert.deepEqual(found, []);
    assert.deepEqual(oracle.verdict().doubled, []);
    assert.deepEqual(oracle.verdict().lost, []);
    assert.equal(oracle.verdict().restarted.length, 1, oracle.verdict().restarted.join("\n"));
    const flips = readyFlips(await auditOf(cluster, NODE_USER), (name) => (MAY_FLIP.has(name) ? 0 : undefined));
    assert.deepEqual(flips, []);
    assert.equal((await readNode()).uid, node.uid, "the Node object is the same");
    assert.equal((await readLease()).uid, lease.uid, "the lease is the same");
  }

  test("[27.4.1] [27.4.2] [27.4.3] pods of the Go kubelet are adopted: nothing restarts, and their status stays identical", async () => {
    await cluster.changeAgent(NODE, "deckhand");
    await atWork("after-go");
    await untouched((pod) => pod);
  });

  test("[27.2.7] static pods keep the UIDs that the Go kubelet computed, which are the hashes of their mirrors", async () => {
    const hashOf = (pod: Kept | undefined) =>
      (pod?.annotations as Record<string, string> | undefined)?.[CONFIG_HASH] ?? "";
    const now = await byName();
    const computed = [...pods].filter(([, before]) => /^[0-9a-f]{32}$/.test(hashOf(before)));
    assert.ok(computed.length > 0, "the Go kubelet ran a static pod without a UID in its manifest");
    for (const [name, before] of computed) {
      assert.equal(hashOf(now.get(name)), hashOf(before), name);
      assert.ok(oracle.living.has(hashOf(before)), name);
    }
  });

  test("[1.11] [4.5] [27.4.4] back to the Go kubelet: nothing restarts except a static pod whose UID Deckhand chose, and that once", async () => {
    await writeFile(join(manifests, "ours.json"), JSON.stringify(manifest(OURS)));
    const mirror = async () => (await byName()).get(`${OURS}-${NODE}`);
    const uidOf = (pod: Kept | undefined) =>
      (pod?.annotations as Record<string, string> | undefined)?.[CONFIG_HASH] ?? "";
    await waitUntil("our static pod to run", 60_000, async () => oracle.living.has(uidOf(await mirror())));
    const first = uidOf(await mirror());
    await pause(2_000);
    oracle.mayEnd(first);
    await cluster.changeAgent(NODE, "go");
    await atWork("after-ours");
    await untouched(ofContainers);
    await waitUntil(
      "the Go kubelet's own to run",
      60_000,
      async () => uidOf(await mirror()) !== first && oracle.living.has(uidOf(await mirror())),
    );
    // The Go kubelet does not know the old pod, so it does not wait for its termination.
    await waitUntil("the old one to end", 60_000, () => Promise.resolve(!oracle.living.has(first)));
    const starts = [first, uidOf(await mirror())].map((uid) => oracle.containersOf(uid).length);
    assert.deepEqual(starts, [1, 1]);
  });
});
