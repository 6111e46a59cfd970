import { readFile } from "node:fs/promises";
import { startCluster } from "../cluster/cluster.ts";
import { pause } from "../cluster/wait.ts";
import { ClusterPods, podOn, STAY, sh } from "../support/cluster-pods.ts";

const MIB = 2 ** 20;
const total = Number(/^MemTotal:\s+(\d+)/m.exec(await readFile("/proc/meminfo", "utf8"))?.[1]) * 1024;
const configuration = {
  enforceNodeAllocatable: ["pods"],
  kubeReserved: { memory: String(total - 600 * MIB) },
  evictionHard: { "memory.available": "100Mi" },
};
process.on("exit", () => {});
const cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "go", options: { configuration } }] });
try {
  const pods = await ClusterPods.of(cluster);
  const scripts: Record<string, string> = {
    tail: `head -c ${100 * MIB} /dev/zero | tail -c ${100 * MIB} | sleep 100000 & ${STAY}`,
    awk: `awk 'BEGIN { s = "xxxxxxxxxxxxxxxx"; while (length(s) < ${100 * MIB}) s = s s; system("sleep 100000") }' & ${STAY}`,
    dd: `dd if=/dev/zero of=/dev/null bs=${100 * MIB} count=1; dd if=/dev/zero bs=${100 * MIB} count=1 | sleep 100000 & ${STAY}`,
  };
  for (const [name, script] of Object.entries(scripts))
    await pods.create(podOn("n1", name, { containers: [sh(script)] }));
  await pause(25000);
  const summary = JSON.parse(await cluster.kubectl("get", "--raw", "/api/v1/nodes/n1/proxy/stats/summary"));
  console.log(JSON.stringify(summary.node.systemContainers.map((c: any) => [c.name, c.memory])));
  console.log(JSON.stringify(summary.pods.map((p: any) => [p.podRef.name, p.memory?.workingSetBytes / MIB])));
  await pods.close();
} finally {
  await cluster.down();
}
