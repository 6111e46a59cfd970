/**
 * The way of many pods on one node of Deckhand's: ready at once, a Deployment by the scheduler, a crowd created at once, and a node
 * that does nothing when nothing happens, seen from the API server's audit log and from the calls that the runtime gets.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { nodes } from "../../src/api/resources.ts";
import { isReady } from "../../src/domain/node/conditions.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import type { CriProxy } from "../cluster/cri-proxy.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";
import { nodeUser, requestsBy } from "../support/audit-log.ts";
import { ClusterPods, isRunning, podOn, SLEEPER } from "../support/cluster-pods.ts";
import { withRuntime } from "../support/node-runtime.ts";

const REPLICAS = wholeSize() ? 50 : 10;
const CROWD = wholeSize() ? 110 : 30;
const IDLE_MINUTES = wholeSize() ? 3 : 1;
/** What is still being published when the last pod runs. */
const SETTLE_MS = 20_000;
const READY_SECONDS_MAX = 3;
const CRI_PER_MINUTE_MAX = 20;
const API_PER_MINUTE_MAX = 8;
const MINUTE_MS = 60_000;
const signal = new AbortController().signal;

let cluster: Cluster;
let pods: ClusterPods;
let node: ClusterNode;
let proxy: CriProxy;

before(async () => {
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand", criProxy: true }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  proxy = node.criProxy ?? assert.fail("the node has a proxy");
  pods = await ClusterPods.of(cluster);
});

after(async () => {
  await pods.close();
  await cluster.down();
});

const running = (prefix: string): readonly Pod[] =>
  pods.names
    .filter((name) => name.startsWith(prefix))
    .map((name) => pods.latest(name))
    .filter((pod) => pod !== undefined && isRunning(pod)) as readonly Pod[];

async function allRun(prefix: string, count: number): Promise<void> {
  try {
    await waitUntil(`${count} pods to run`, 300_000, async () => running(prefix).length === count, 50);
  } catch (error) {
    throw new Error(`${running(prefix).length} of ${count} run`, { cause: error });
  }
}

const roundedSeconds = (ms: number) => Math.round(ms / 10) / 100;

void suite("the way of many pods", () => {
  test("[3.1] a node that has never been is ready within three seconds of the agent's start", async () => {
    const agent = cluster.component(`kubelet@${node.name}`);
    await agent.kill();
    await pods.api.delete(nodes, { name: node.name }, {}, signal);
    const startedMs = performance.now();
    const restarted = agent.restart();
    const seen = waitUntil("the node to be ready", 60_000, async () =>
      isReady((await pods.api.get(nodes, { name: node.name }, signal)).status?.conditions),
    );
    await seen;
    const seconds = (performance.now() - startedMs) / 1000;
    await restarted;
    figure("from the start of the agent to a ready node", Math.round(seconds * 100) / 100, "s");
    figure("load of the machine", Math.round((loadavg()[0] ?? 0) * 10) / 10, "processes");
    // Two cores that others use as well give no figure of ours.
    const limit = (loadavg()[0] ?? 0) > 3 ? 4 * READY_SECONDS_MAX : READY_SECONDS_MAX;
    assert.ok(seconds <= limit, `ready after ${seconds} s`);
  });

  test("[6.1][7.1] a Deployment and a pod of ten containers, placed by the scheduler, run", async () => {
    const template = {
      metadata: { labels: { app: "many" } },
      spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers: [SLEEPER] },
    };
    const deployment = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "many", namespace: "default" },
      spec: { replicas: REPLICAS, selector: { matchLabels: { app: "many" } }, template },
    };
    const file = join(cluster.layout.folder, "deployment.json");
    await writeFile(file, JSON.stringify(deployment));
    const startedMs = performance.now();
    await cluster.kubectl("create", "-f", file);
    const containers = Array.from({ length: 10 }, (_, index) => ({ ...SLEEPER, name: `c${index}` }));
    await pods.create(podOn(undefined, "ten", { containers }));
    await allRun("many-", REPLICAS);
    figure("pods of a Deployment", REPLICAS, "pods");
    figure("until all of them ran", roundedSeconds(performance.now() - startedMs), "s");
    const ten = await pods.running("ten", 120_000);
    assert.equal(ten.spec?.nodeName, node.name);
    assert.equal(ten.status?.containerStatuses?.filter(({ ready }) => ready).length, 10);
    await cluster.kubectl("rollout", "status", "deployment/many", "--timeout=60s");
  });

  test("[6.6][11.3] and all of it goes when it is deleted", async () => {
    const names = [...pods.names];
    const startedMs = performance.now();
    await cluster.kubectl("delete", "deployment", "many", "--cascade=foreground", "--timeout=200s");
    await pods.delete("ten");
    for (const name of names) await pods.gone(name, 120_000);
    figure("until all of it was gone", roundedSeconds(performance.now() - startedMs), "s");
    await withRuntime(node, async (runtime) => {
      const isEmpty = async () => (await runtime.listSandboxes({}, signal)).length === 0;
      await waitUntil("the runtime to have no sandbox left", 120_000, isEmpty, 500);
      assert.deepEqual(await runtime.listContainers({}, signal), []);
    });
  });

  test("[6.1] a crowd of pods created at once runs", async () => {
    const startedMs = performance.now();
    const names = Array.from({ length: CROWD }, (_, index) => `crowd-${index}`);
    await Promise.all(names.map((name) => pods.create(podOn(node.name, name, { containers: [SLEEPER] }))));
    await allRun("crowd-", CROWD);
    figure("pods created at once", CROWD, "pods");
    figure("until the last of them ran", roundedSeconds(performance.now() - startedMs), "s");
  });

  test("[10.1][3.13] then nothing happens: few calls to the runtime, few requests to the API server", async (t) => {
    await pause(SETTLE_MS);
    const [fromMs, from] = [Date.now(), proxy.calls.length];
    await pause(IDLE_MINUTES * MINUTE_MS);
    const calls = proxy.calls.slice(from);
    const requests = (await requestsBy(cluster, nodeUser(node.name))).filter(({ receivedMs }) => receivedMs >= fromMs);
    t.diagnostic(`runtime: ${counted(calls.map(({ method }) => method))}`);
    t.diagnostic(`API server: ${counted(requests.map(({ verb, resource }) => `${verb} ${resource}`))}`);
    figure("calls to the runtime in an idle minute", calls.length / IDLE_MINUTES, "1/min");
    figure("requests to the API server in an idle minute", requests.length / IDLE_MINUTES, "1/min");
    assert.ok(calls.length / IDLE_MINUTES <= CRI_PER_MINUTE_MAX, `${calls.length} calls`);
    assert.ok(requests.length / IDLE_MINUTES <= API_PER_MINUTE_MAX, `${requests.length} requests`);
    assert.equal(running("crowd-").length, CROWD);
  });
});

function counted(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}
