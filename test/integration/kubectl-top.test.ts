/** Tests `kubectl top` with the real metrics-server: its values match what runs on each node. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { startMetricsServer } from "../cluster/metrics-server.ts";
import { waitUntil } from "../cluster/wait.ts";
import { SIDES } from "../golden/sides.ts";
import { ClusterPods, podOn, SLEEPER, sh } from "../support/cluster-pods.ts";

let cluster: Cluster;
let pods: ClusterPods;

/** Uses all the CPU it gets, and holds 32 MiB that it has written. */
const BUSY = sh("head -c 33554432 /dev/zero > /held/zeros; while :; do :; done", "busy");
const HELD = { name: "held", emptyDir: { medium: "Memory" } };

const busyOn = (node: string) =>
  podOn(node, `busy-${node}`, {
    volumes: [HELD],
    containers: [
      {
        ...BUSY,
        volumeMounts: [{ name: "held", mountPath: "/held" }],
        resources: { limits: { cpu: "200m", memory: "64Mi" } },
      },
      SLEEPER,
    ],
  });

before(async () => {
  cluster = await startCluster({ controlPlane: "full", nodes: SIDES.map((agent) => ({ agent })) });
  pods = await ClusterPods.of(cluster);
  for (const { name } of cluster.nodes) await pods.create(busyOn(name));
  await startMetricsServer(cluster);
});

after(async () => {
  await pods.close();
  await cluster.down();
});

/** The columns of each line, without the header. */
async function top(...args: readonly string[]): Promise<readonly (readonly string[])[]> {
  const table = await cluster.kubectl("top", ...args, "--no-headers").catch((error: Error) => {
    if (/not available yet|metrics not available|not yet available/i.test(error.message)) return "";
    throw error;
  });
  return table
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.trim().split(/\s+/));
}

const milli = (text = "") => (text.endsWith("m") ? Number(text.slice(0, -1)) : Number(text) * 1000);
const mebi = (text = "") => Number(text.replace(/Mi$/, ""));

void suite("kubectl top", () => {
  test("[21.1] kubectl top node shows each node's CPU and memory, and their share of its allocatable", async () => {
    await waitUntil("figures of all nodes", 90_000, async () => {
      const lines = await top("node");
      return lines.length === cluster.nodes.length && lines.every((line) => !line.includes("<unknown>"));
    });
    for (const [name = "", cpu, cpuPart = "", memory, memoryPart = ""] of await top("node")) {
      assert.ok(milli(cpu) > 0, `${name} uses ${cpu}`);
      assert.ok(mebi(memory) > 32, `${name} holds ${memory}`);
      assert.match(cpuPart, /^\d+%$/);
      assert.match(memoryPart, /^\d+%$/);
    }
  });

  test("[21.1] kubectl top pod --containers shows the usage of each container, within its limits", async () => {
    for (const { name } of cluster.nodes) {
      const pod = `busy-${name}`;
      await waitUntil(`figures of ${pod}`, 60_000, async () => (await top("pod", pod, "--containers")).length === 2);
      const lines = await top("pod", pod, "--containers");
      const [busy, idle] = ["busy", "main"].map((container) => lines.find((line) => line[1] === container));
      // The limit is a fifth of a CPU. A busy machine's scheduler may give less, and its periods may give more.
      assert.ok(milli(busy?.[2]) > 10 && milli(busy?.[2]) <= 300, `${name}: ${busy?.join(" ")}`);
      assert.ok(mebi(busy?.[3]) >= 32 && mebi(busy?.[3]) <= 64, `${name}: ${busy?.join(" ")}`);
      assert.ok(milli(idle?.[2]) < 10 && mebi(idle?.[3]) < 32, `${name}: ${idle?.join(" ")}`);
      const [whole] = await top("pod", pod);
      assert.ok(mebi(whole?.[2]) >= 32, `${name}: ${whole?.join(" ")}`);
    }
  });
});
