/**
 * Many pods on one Deckhand node: the node is Ready soon after the agent's start, the scheduler places a Deployment,
 * many pods are created at once, and an idle node sends few calls. The integration suite runs small sizes, the proof
 * `way-of-a-pod` the full size.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { nodes } from "../../../src/api/resources.ts";
import { isReady } from "../../../src/domain/node/conditions.ts";
import { pause, waitUntil } from "../../cluster/wait.ts";
import { figure } from "../../figures.ts";
import { nodeUser, requestsBy } from "../../support/audit-log.ts";
import { isRunning, podOn, SLEEPER } from "../../support/cluster-pods.ts";
import { withRuntime } from "../../support/node-runtime.ts";
import { cpuMsOf } from "../../support/process-time.ts";
import type { World } from "./world.ts";

export interface ManyPodsSize {
  /** Nothing else runs on the machine. */
  readonly isAlone: boolean;
  readonly replicas: number;
  readonly crowd: number;
  /** How long the node may still publish after the last pod runs. */
  readonly settleMs: number;
  readonly idleMs: number;
}

const READY_SECONDS_MAX = 3;
const CRI_PER_MINUTE_MAX = 20;
const API_PER_MINUTE_MAX = 8;
const MINUTE_MS = 60_000;
const signal = new AbortController().signal;

const roundedSeconds = (ms: number) => Math.round(ms / 10) / 100;

export function manyPods(worldOf: () => World, size: ManyPodsSize): void {
  const running = (prefix: string): readonly Pod[] =>
    worldOf()
      .pods.names.filter((name) => name.startsWith(prefix))
      .map((name) => worldOf().pods.latest(name))
      .filter((pod) => pod !== undefined && isRunning(pod)) as readonly Pod[];

  async function allRun(prefix: string, count: number): Promise<void> {
    try {
      await waitUntil(`${count} pods to run`, 300_000, async () => running(prefix).length === count, 50);
    } catch (error) {
      throw new Error(`${running(prefix).length} of ${count} run`, { cause: error });
    }
  }

  void suite("many pods on one node", () => {
    test("[3.1] a node that is not registered is Ready within three seconds of the agent's start", async () => {
      const { cluster, pods, node } = worldOf();
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
      const cpuSeconds = (await cpuMsOf(agent.pid)) / 1000;
      figure("from the start of the agent to a ready node", Math.round(seconds * 100) / 100, "s");
      figure("CPU time of the agent until then", Math.round(cpuSeconds * 100) / 100, "s");
      // Beside other test files the cores are shared: the agent's CPU time counts instead.
      const limited = size.isAlone ? seconds : cpuSeconds;
      assert.ok(limited <= READY_SECONDS_MAX, `ready after ${seconds} s, ${cpuSeconds} s of CPU time`);
    });

    test("[6.1][7.1] a Deployment and a pod of ten containers, placed by the scheduler, run", async () => {
      const { cluster, pods, node } = worldOf();
      const template = {
        metadata: { labels: { app: "many" } },
        spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers: [SLEEPER] },
      };
      const deployment = {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "many", namespace: "default" },
        spec: { replicas: size.replicas, selector: { matchLabels: { app: "many" } }, template },
      };
      const file = join(cluster.layout.directory, "deployment.json");
      await writeFile(file, JSON.stringify(deployment));
      const startedMs = performance.now();
      await cluster.kubectl("create", "-f", file);
      const containers = Array.from({ length: 10 }, (_, index) => ({ ...SLEEPER, name: `c${index}` }));
      await pods.create(podOn(undefined, "ten", { containers }));
      await allRun("many-", size.replicas);
      figure("pods of a Deployment", size.replicas, "pods");
      figure("until all of them ran", roundedSeconds(performance.now() - startedMs), "s");
      const ten = await pods.running("ten", 120_000);
      assert.equal(ten.spec?.nodeName, node.name);
      assert.equal(ten.status?.containerStatuses?.filter(({ ready }) => ready).length, 10);
      await cluster.kubectl("rollout", "status", "deployment/many", "--timeout=60s");
    });

    test("[6.6][11.3] all of these pods terminate when they are deleted", async () => {
      const { cluster, pods, node } = worldOf();
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

    test("[6.1] many pods created at once run", async () => {
      const { pods, node } = worldOf();
      const startedMs = performance.now();
      const names = Array.from({ length: size.crowd }, (_, index) => `crowd-${index}`);
      await Promise.all(names.map((name) => pods.create(podOn(node.name, name, { containers: [SLEEPER] }))));
      await allRun("crowd-", size.crowd);
      figure("pods created at once", size.crowd, "pods");
      figure("until the last of them ran", roundedSeconds(performance.now() - startedMs), "s");
    });

    test("[10.1][3.13] an idle node sends few calls to the runtime and few requests to the API server", async (t) => {
      const { cluster, pods, node, proxy } = worldOf();
      await pause(size.settleMs);
      const [fromMs, from] = [Date.now(), proxy.calls.length];
      await pause(size.idleMs);
      const calls = proxy.calls.slice(from);
      const requests = (await requestsBy(cluster, nodeUser(node.name))).filter(
        ({ receivedMs }) => receivedMs >= fromMs,
      );
      t.diagnostic(`runtime: ${counted(calls.map(({ method }) => method))}`);
      t.diagnostic(`API server: ${counted(requests.map(({ verb, resource }) => `${verb} ${resource}`))}`);
      const minutes = size.idleMs / MINUTE_MS;
      figure("calls to the runtime in an idle minute", calls.length / minutes, "1/min");
      figure("requests to the API server in an idle minute", requests.length / minutes, "1/min");
      // One more than the rate allows: a period may begin just before the interval and end just after it.
      assert.ok(calls.length <= Math.ceil(CRI_PER_MINUTE_MAX * minutes) + 1, `${calls.length} calls`);
      assert.ok(requests.length <= Math.ceil(API_PER_MINUTE_MAX * minutes) + 1, `${requests.length} requests`);
      const crowd = running("crowd-").map(({ metadata }) => metadata?.name ?? "");
      assert.equal(crowd.length, size.crowd);
      await Promise.all(crowd.map((name) => pods.delete(name, 0)));
      for (const name of crowd) await pods.gone(name, 120_000);
    });
  });
}

function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${count} ${name}`).join(", ");
}
