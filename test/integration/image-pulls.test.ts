/** Pulls from a registry that asks who comes, as operators meet them: what a pod says while it waits, and how soon it goes on when the reason is gone. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { secrets } from "../../src/api/resources.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { ClusterPods, podOn, SLEEPER } from "../support/cluster-pods.ts";

/** Half of what operators were promised is the machine's, which is loaded. */
const SOON_MS = 4_000;
const forever = new AbortController().signal;

let cluster: Cluster;
let node: ClusterNode;
let pods: ClusterPods;

before(async () => {
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand" }] });
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
  test("[9.3] [9.5] without its Secret a pod says what the registry said, and goes on as soon as the Secret is there", async () => {
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

  test("[9.6] [27.1.33] the logins of the node are taken where the pod has none, from the next pull on", async () => {
    await pods.create(podWith("without", "2"));
    await pods.first("without", "refused", (pod) => (waitingOf(pod)?.message ?? "").includes("authorization failed"));
    await writeFile(node.inside("/var/lib/kubelet/config.json"), logins());
    await pods.create(podWith("with", "3"));
    await pods.first("with", "running", isRunning);
    await pods.first("without", "running too, when it tries again", isRunning);
  });
});
