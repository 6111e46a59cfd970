/** Runs the executable as a node's agent: one file in an otherwise empty directory, instead of the source tree. */
import assert from "node:assert/strict";
import { copyFile, mkdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { scratch } from "../../tools/scratch.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { builtProgram } from "../support/built-program.ts";
import { ClusterPods, mountingSpec, podOn, STAY, sh } from "../support/cluster-pods.ts";

describe("the executable as a node's agent", () => {
  const directory = scratch();
  let cluster: Cluster;
  let node: ClusterNode;
  let pods: ClusterPods;
  let installed: string;

  before(async () => {
    const { executable } = await builtProgram();
    installed = directory.path("bin/deckhand");
    await mkdir(directory.path("bin"));
    await copyFile(executable, installed);
    const options = { deckhand: [installed] };
    cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand", options }] });
    node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
    await cluster.kubectl("wait", "--for=condition=Ready", `node/${node.name}`, "--timeout=60s");
    pods = await ClusterPods.of(cluster);
  });

  after(async () => {
    await pods.close();
    await cluster.down();
    directory[Symbol.dispose]();
  });

  const agentPid = () => cluster.component(`kubelet@${node.name}`).pid;
  const logs = () => cluster.kubectl("logs", "app");
  const startedContainer = () =>
    cluster.kubectl("get", "pod", "app", "-o", "jsonpath={.status.containerStatuses[0].containerID}");

  test("the process runs the installed file and not the sources", async () => {
    assert.equal(await readlink(`/proc/${agentPid()}/exe`), installed);
  });

  test("a pod with volumes runs, and kubectl logs and exec work", async () => {
    await cluster.kubectl("create", "configmap", "settings", "--from-literal=greeting=hello");
    const spec = mountingSpec(`echo "$(cat /settings/greeting)"; ${STAY}`);
    await pods.create(podOn(node.name, "app", spec));
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/app", "--timeout=60s");
    await waitUntil("the pod's line", 20_000, async () => (await logs()) === "hello\n");
    assert.equal(await cluster.kubectl("exec", "app", "--", "cat", "/settings/greeting"), "hello");
    assert.match(await cluster.kubectl("exec", "app", "--", "grep", " /memory ", "/proc/mounts"), /^tmpfs /);
  });

  test("/stats/summary has CPU usage from the stats thread inside the executable", async () => {
    const summary = JSON.parse(
      await cluster.kubectl("get", "--raw", `/api/v1/nodes/${node.name}/proxy/stats/summary`),
    ) as { readonly node: { readonly cpu: { readonly usageCoreNanoSeconds: number } } };
    assert.ok(summary.node.cpu.usageCoreNanoSeconds > 0);
  });

  test("while its file is replaced and removed, the running executable still sets up volumes", async () => {
    // As a package manager does: rename the new file over the old one, or remove the old one. The new file cannot run.
    await writeFile(`${installed}.new`, "");
    const kept = `${installed}.kept`;
    await copyFile(installed, kept);
    await rename(`${installed}.new`, installed);
    await rm(installed);
    const volumes = [{ name: "memory", emptyDir: { medium: "Memory" } }];
    const container = { ...sh(STAY), volumeMounts: [{ name: "memory", mountPath: "/memory" }] };
    await pods.create(podOn(node.name, "meanwhile", { containers: [container], volumes }));
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/meanwhile", "--timeout=60s");
    await rename(kept, installed);
  });

  test("started through a link named kubelet, the executable keeps existing containers running", async () => {
    const before = await startedContainer();
    const link = directory.path("bin/kubelet");
    await symlink("deckhand", link);
    await cluster.changeAgent(node.name, "deckhand", { program: [link] });
    await cluster.kubectl("wait", "--for=condition=Ready", `node/${node.name}`, "--timeout=60s");
    assert.equal(await readlink(`/proc/${agentPid()}/exe`), installed);
    assert.equal(await cluster.kubectl("exec", "app", "--", "cat", "/settings/greeting"), "hello");
    assert.equal(await startedContainer(), before);
  });
});
