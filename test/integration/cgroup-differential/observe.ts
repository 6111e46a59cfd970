/** Runs pods under the Go kubelet, in batches that fit the machine, and records what it does with each. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { quantityMilliValue, quantityValue } from "../../../src/base/quantity.ts";
import { cgroupPath, KUBEPODS, parseCgroupPath, podCgroupName } from "../../../src/domain/resources/cgroup-name.ts";
import type { CgroupName } from "../../../src/domain/resources/cgroup-values.ts";
import { podRequests } from "../../../src/domain/resources/pod-resources.ts";
import { qosCgroupValues } from "../../../src/domain/resources/qos-cgroups.ts";
import { podQosClass } from "../../../src/domain/resources/qos-class.ts";
import { hostTree } from "../../../src/wire/cgroupfs/tree.ts";
import { cgroupsLeft } from "../../cluster/cgroups.ts";
import type { Cluster, ClusterNode } from "../../cluster/cluster.ts";
import { pause, waitUntil } from "../../cluster/wait.ts";
import { type CriRecord, criRecords, type GroupFiles, groupFiles } from "./go-side.ts";
import type { Case } from "./specs.ts";

export interface PodSeen {
  readonly pod: Pod;
  readonly expect: Case["expect"];
  readonly files: GroupFiles;
  readonly sandboxes: readonly CriRecord[];
  /** Files only of a container that has not terminated. */
  readonly containers: readonly { readonly record: CriRecord; readonly files: GroupFiles | undefined }[];
}

export interface BatchSeen {
  readonly pods: readonly PodSeen[];
  /** Read after the Go kubelet has had time to update the QoS cgroups. */
  readonly tiers: ReadonlyMap<string, GroupFiles>;
}

export const ROOM = { milliCpu: 1700n, bytes: 8n * 2n ** 30n };
/** The pod overhead of the RuntimeClass, which the API server adds. */
const OVERHEAD = { milliCpu: 15n, bytes: 20n * 2n ** 20n };

export class GoNode {
  readonly #cluster: Cluster;
  readonly node: ClusterNode;
  readonly root: CgroupName;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
    this.root = parseCgroupPath(this.node.cgroupParent);
  }

  pathOf(name: CgroupName): string {
    return cgroupPath([...this.root, ...name], "cgroupfs");
  }

  async create(items: readonly unknown[]): Promise<void> {
    const file = join(this.#cluster.layout.directory, "objects.json");
    await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    await this.#cluster.kubectl("create", "-f", file);
  }

  async observe(cases: readonly Case[]): Promise<readonly BatchSeen[]> {
    const seen: BatchSeen[] = [];
    for (const batch of batches(cases, ROOM)) {
      const pods = await this.#start(batch);
      const records = await criRecords(this.node);
      const podsSeen: PodSeen[] = [];
      for (const pod of pods) podsSeen.push(await this.#look(pod, batch, records));
      seen.push({ pods: podsSeen, tiers: await this.#tiers(pods) });
      await this.#end(pods);
    }
    return seen;
  }

  async #start(cases: readonly Case[]): Promise<readonly Pod[]> {
    await this.create(cases.map(({ name, spec }) => ({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec })));
    let pods: readonly Pod[] = [];
    const started = async () => {
      pods = await this.#pods();
      const waiting = [];
      for (const one of cases) if (!(await this.#hasStarted(one, pods))) waiting.push(one.name);
      assert.deepEqual(waiting, []);
      return true;
    };
    await waitUntil("the pods to start", 180_000, started, 500);
    return pods;
  }

  async #pods(): Promise<readonly Pod[]> {
    const text = await this.#cluster.kubectl("get", "pods", "-o", "json");
    return (JSON.parse(text) as { readonly items: readonly Pod[] }).items;
  }

  async #hasStarted({ name, expect }: Case, pods: readonly Pod[]): Promise<boolean> {
    const pod = pods.find(({ metadata }) => metadata?.name === name);
    if (pod === undefined) return false;
    assert.notEqual(pod.status?.phase, "Failed", `${name}: ${pod.status?.reason} ${pod.status?.message}`);
    const isReady = pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
    if (expect === "running") return isReady;
    const path = this.pathOf(nameOf(pod));
    // The Go kubelet creates the directory first and then writes its files.
    return (await hostTree.isGroup(join("/sys/fs/cgroup/pids", path))) && (await cgroupsLeft(path)).length > 0;
  }

  async #look(pod: Pod, batch: readonly Case[], records: readonly CriRecord[]): Promise<PodSeen> {
    const path = this.pathOf(nameOf(pod));
    const mine = records.filter(({ podUid }) => podUid === pod.metadata?.uid);
    const containers = [];
    for (const record of mine.filter(({ kind }) => kind === "container")) {
      const group = `${path}/${record.id}`;
      const isThere = await hostTree.isGroup(join("/sys/fs/cgroup/memory", group));
      containers.push({ record, files: isThere ? await groupFiles(group) : undefined });
    }
    return {
      pod,
      expect: batch.find(({ name }) => name === pod.metadata?.name)?.expect ?? "running",
      files: await groupFiles(path),
      sandboxes: mine.filter(({ kind }) => kind === "sandbox"),
      containers,
    };
  }

  /**
   * The Go kubelet updates the QoS cgroups when it creates a pod's cgroup, and once a minute. Wait that long, then take
   * the values as they are.
   */
  async #tiers(pods: readonly Pod[]): Promise<ReadonlyMap<string, GroupFiles>> {
    const seen = new Map<string, GroupFiles>();
    const endMs = performance.now() + 70_000;
    for (const [name, { cpuShares }] of qosCgroupValues(pods, [])) {
      for (;;) {
        const files = await groupFiles(this.pathOf(name));
        seen.set(name.join("/"), files);
        const isMoved = cpuShares === undefined || files["cpu/cpu.shares"] === String(cpuShares);
        if (isMoved || performance.now() > endMs) break;
        await pause(200);
      }
    }
    return seen;
  }

  async #end(pods: readonly Pod[]): Promise<void> {
    await this.#cluster.kubectl("delete", "pods", "--all", "--grace-period=0", "--force");
    const areGone = async () => {
      for (const pod of pods) if ((await cgroupsLeft(this.pathOf(nameOf(pod)))).length > 0) return false;
      return true;
    };
    await waitUntil("the pods' groups to go", 120_000, areGone, 200);
  }
}

const nameOf = (pod: Pod) => podCgroupName(podQosClass(pod), pod.metadata?.uid ?? "");

export const kubepodsOf = (node: GoNode) => groupFiles(node.pathOf(KUBEPODS));

/** Batches that fit the machine's CPUs and memory by their requests. */
export function batches(cases: readonly Case[], room: typeof ROOM): readonly (readonly Case[])[] {
  const all: Case[][] = [];
  let { milliCpu, bytes } = room;
  for (const one of cases) {
    const requests = podRequests(one.spec, { overhead: true });
    const [cpu, memory] = [requests.get("cpu"), requests.get("memory")];
    const milliCpuMore = (cpu === undefined ? 0n : quantityMilliValue(cpu)) + OVERHEAD.milliCpu;
    const bytesMore = (memory === undefined ? 0n : quantityValue(memory)) + OVERHEAD.bytes;
    [milliCpu, bytes] = [milliCpu + milliCpuMore, bytes + bytesMore];
    if (milliCpu > room.milliCpu || bytes > room.bytes) {
      all.push([]);
      [milliCpu, bytes] = [milliCpuMore, bytesMore];
    }
    all.at(-1)?.push(one);
  }
  return all;
}
