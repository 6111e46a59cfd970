/**
 * The same pods under the Go kubelet and through our functions and our adapter: every cgroup file, everything the runtime is told.
 * Pods run in batches that fit the machine. Ours writes below a parent of its own, beside the cluster's.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { Node, Pod } from "../../src/api/gen/core-v1.ts";
import { formatQuantity, quantityMilliValue, quantityValue } from "../../src/base/quantity.ts";
import { containerHash } from "../../src/domain/pod/container-hash.ts";
import { cgroupPath, KUBEPODS, parseCgroupPath, runtimeParent } from "../../src/domain/resources/cgroup-name.ts";
import type { CgroupName, CgroupValues } from "../../src/domain/resources/cgroup-values.ts";
import { type HardThresholds, kubepodsValues, nodeAllocatable } from "../../src/domain/resources/node-allocatable.ts";
import { podRequests } from "../../src/domain/resources/pod-resources.ts";
import { qosTierValues } from "../../src/domain/resources/qos-tiers.ts";
import { parseResourceList, type ResourceList } from "../../src/domain/resources/resource-list.ts";
import type { LinuxResources } from "../../src/domain/runtime/resources.ts";
import type { Cgroups } from "../../src/ports/cgroups.ts";
import { createCgroups } from "../../src/wire/cgroupfs/cgroups.ts";
import { parseHierarchies } from "../../src/wire/cgroupfs/hierarchies.ts";
import { hostTree } from "../../src/wire/cgroupfs/tree.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { cgroupsLeft, removeCgroup } from "../cluster/cgroups.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { type CriRecord, criRecords, FILES, groupFiles, machineCpuset } from "./cgroup-differential/go-side.ts";
import {
  canonical,
  containerNames,
  expectedFiles,
  inCri,
  type MachineSide,
  planFor,
  readMachine,
} from "./cgroup-differential/our-side.ts";
import { CASES, type Case, RUNTIME_CLASS } from "./cgroup-differential/specs.ts";

const forever = new AbortController().signal;
const PARENT = `deckhand-differential-${process.pid}`;
const MILLI_CPU_MAX = 1700n;
const BYTES_MAX = 8n * 2n ** 30n;

let cluster: Cluster;
let ours: Cgroups;
let machine: MachineSide;
let root: CgroupName;
const counted = { pods: 0, groups: 0, files: 0, containers: 0, sandboxes: 0 };

before(async () => {
  const hierarchies = parseHierarchies(await readFile("/proc/self/mounts", "utf8"));
  ours = createCgroups({ hierarchies, root: [PARENT], tree: hostTree, clock: hostClock });
  machine = await readMachine();
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "go" }] });
  root = parseCgroupPath(cluster.nodes[0]?.cgroupParent ?? "");
  await create([RUNTIME_CLASS]);
});

after(async () => {
  await ours.destroy(KUBEPODS, forever);
  await removeCgroup(`/${PARENT}`);
  assert.deepEqual(await cgroupsLeft(`/${PARENT}`), []);
  await cluster.down();
});

const goPath = (name: CgroupName) => cgroupPath([...root, ...name], "cgroupfs");

async function create(items: readonly unknown[]): Promise<void> {
  const file = join(cluster.layout.folder, "objects.json");
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await cluster.kubectl("create", "-f", file);
}

async function pods(): Promise<readonly Pod[]> {
  const list = JSON.parse(await cluster.kubectl("get", "pods", "-o", "json")) as { readonly items: readonly Pod[] };
  return list.items;
}

/** As many as fit the machine's CPUs and memory by what they request. */
function batches(cases: readonly Case[]): readonly (readonly Case[])[] {
  const all: Case[][] = [];
  let [milliCpu, bytes] = [MILLI_CPU_MAX, BYTES_MAX];
  for (const one of cases) {
    const requests = podRequests(one.spec, { overhead: true });
    const [cpu, memory] = [requests.get("cpu"), requests.get("memory")];
    milliCpu += (cpu === undefined ? 0n : quantityMilliValue(cpu)) + 15n;
    bytes += (memory === undefined ? 0n : quantityValue(memory)) + 20n * 2n ** 20n;
    if (milliCpu > MILLI_CPU_MAX || bytes > BYTES_MAX) {
      all.push([]);
      [milliCpu, bytes] = [
        cpu === undefined ? 0n : quantityMilliValue(cpu),
        memory === undefined ? 0n : quantityValue(memory),
      ];
    }
    all.at(-1)?.push(one);
  }
  return all;
}

async function start(cases: readonly Case[]): Promise<readonly Pod[]> {
  await create(cases.map(({ name, spec }) => ({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec })));
  let found: readonly Pod[] = [];
  await waitUntil(
    "the pods to run",
    180_000,
    async () => {
      found = await pods();
      const started = await Promise.all(cases.map((one) => hasStarted(one, found)));
      const missing = cases.filter((_, index) => started[index] === false).map(({ name }) => name);
      if (missing.length > 0) throw new Error(`not yet: ${missing.join(", ")}`);
      return true;
    },
    500,
  );
  return found;
}

async function hasStarted({ name, expect }: Case, found: readonly Pod[]): Promise<boolean> {
  const pod = found.find(({ metadata }) => metadata?.name === name);
  assert.notEqual(pod?.status?.phase, "Failed", `${name}: ${pod?.status?.reason} ${pod?.status?.message}`);
  if (expect === "running")
    return pod?.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True") ?? false;
  if (pod === undefined) return false;
  const { name: group } = planFor(machine, { podPidsLimit: -1n, periodUs: 100_000 }).podCgroup(pod);
  return groupFiles(goPath(group)).then(
    () => true,
    () => false,
  );
}

async function end(found: readonly Pod[]): Promise<void> {
  await cluster.kubectl("delete", "pods", "--all", "--grace-period=0", "--force");
  await waitUntil("the pods' groups to go", 120_000, async () => {
    const left = await Promise.all(
      found.map(({ metadata }) => cgroupsLeft(goPath([...KUBEPODS, `pod${metadata?.uid}`]))),
    );
    const tiers = await Promise.all(["burstable", "besteffort"].map((tier) => podsIn([...KUBEPODS, tier])));
    return left.flat().length === 0 && tiers.flat().length === 0;
  });
}

const podsIn = async (name: CgroupName) =>
  (await hostTree.children(join("/sys/fs/cgroup/memory", goPath(name)))).filter((child) => child.startsWith("pod"));

/** Theirs against what we compute, and against what our adapter makes of it on the same kernel. */
async function compareGroup(name: CgroupName, values: CgroupValues, what: string): Promise<void> {
  const theirs = await groupFiles(goPath(name));
  assert.deepEqual(
    theirs,
    expectedFiles(values, await machineCpuset()),
    `${what}: the Go kubelet's files and our values`,
  );
  await ours.apply(name, values);
  assert.deepEqual(await groupFiles(ours.pathOf(name)), theirs, `${what}: our files and the Go kubelet's`);
  counted.groups += 1;
  counted.files += FILES.length;
}

interface Settings {
  readonly podPidsLimit: bigint;
  readonly periodUs: number;
}

async function comparePod(pod: Pod, records: readonly CriRecord[], settings: Settings): Promise<void> {
  const plan = planFor(machine, settings);
  const title = pod.metadata?.name ?? "";
  const { name, values } = plan.podCgroup(pod);
  await compareGroup(name, values, title);
  const mine = records.filter(({ podUid }) => podUid === pod.metadata?.uid);
  for (const { linux } of mine.filter(({ kind }) => kind === "sandbox")) {
    const { overhead, resources } = plan.sandboxResources(pod);
    assert.equal(linux.cgroup_parent, runtimeParent([...root, ...name], "cgroupfs"), title);
    assert.deepEqual(canonical(linux.resources ?? {}), inCri(resources), `${title}: sandbox`);
    assert.deepEqual(canonical(linux.overhead ?? {}), inCri(overhead), `${title}: overhead`);
    counted.sandboxes += 1;
  }
  for (const record of mine.filter(({ kind }) => kind === "container")) {
    const resources = plan.containerResources(pod, record.containerName);
    const where = `${title}/${record.containerName}`;
    assert.deepEqual(canonical(record.linux.resources ?? {}), inCri(resources), where);
    const spec = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
    const container = spec.find((candidate) => candidate.name === record.containerName) ?? { name: "" };
    assert.equal(record.annotations["io.kubernetes.container.hash"], containerHash(container), where);
    counted.containers += 1;
    await compareContainerFiles(`${goPath(name)}/${record.id}`, resources, where);
  }
  counted.pods += 1;
}

/** Of a container that has not ended; the runtime wrote its files from what it was told. */
async function compareContainerFiles(path: string, resources: LinuxResources, where: string) {
  if (!(await hostTree.isGroup(join("/sys/fs/cgroup/memory", path)))) return;
  const { cpuShares, cpuQuotaUs, cpuPeriodUs, memoryLimitBytes } = resources;
  const values = Object.fromEntries(
    Object.entries({ cpuShares, cpuQuotaUs, cpuPeriodUs, memoryLimitBytes }).filter(([, value]) => value !== undefined),
  ) as CgroupValues;
  const expected = expectedFiles(values, await machineCpuset());
  const swap =
    resources.memorySwapLimitBytes === undefined
      ? {}
      : { "memory/memory.memsw.limit_in_bytes": expected["memory/memory.limit_in_bytes"] };
  assert.deepEqual(await groupFiles(path), { ...expected, ...swap }, where);
  counted.groups += 1;
  counted.files += FILES.length;
}

/** The Go kubelet moves the tiers when it makes a pod's group, and each minute. */
async function compareTiers(found: readonly Pod[]): Promise<void> {
  for (const [name, values] of qosTierValues(found, machine.hugepageSizes)) {
    if (values.cpuShares === undefined) continue;
    await waitUntil(`${name.join("/")} to be moved`, 70_000, async () => {
      return (await groupFiles(goPath(name)))["cpu/cpu.shares"] === String(values.cpuShares);
    });
    await compareGroup(name, values, name.join("/"));
  }
}

void suite("cgroups of the Go kubelet and ours", () => {
  const defaults: Settings = { podPidsLimit: -1n, periodUs: 100_000 };

  test("[14.8] kubepods is held to the whole machine, and the Node's event says so in the same words", async () => {
    const reservations = { systemReserved: new Map(), kubeReserved: new Map() };
    await compareGroup(KUBEPODS, kubepodsValues({ ...machine, reservations, enforcePods: true }), "kubepods");
    const events = await cluster.kubectl(
      "get",
      "events",
      "-o",
      "jsonpath={range .items[*]}{.reason}: {.message}{'\\n'}{end}",
    );
    assert.match(events, /^NodeAllocatableEnforced: Updated Node Allocatable limit across pods$/m);
  });

  test("[14.4][14.6][27.3.8] every pod of every shape, its tier and its containers", async (t) => {
    assert.ok(CASES.length >= 40);
    for (const batch of batches(CASES)) {
      const found = await start(batch);
      const records = await criRecords(cluster.nodes[0] ?? assert.fail("a node"));
      for (const pod of found) {
        await comparePod(pod, records, defaults);
        const told = records.filter(({ podUid, kind }) => podUid === pod.metadata?.uid && kind === "container");
        const running = batch.find(({ name }) => name === pod.metadata?.name)?.expect === "running";
        if (running) assert.deepEqual(new Set(told.map((r) => r.containerName)), new Set(containerNames(pod)));
      }
      await compareTiers(found);
      await end(found);
    }
    assert.equal(counted.pods, CASES.length);
    t.diagnostic(
      `${counted.pods} pods, ${counted.groups} groups, ${counted.files} files, ${counted.containers} containers and ${counted.sandboxes} sandboxes compared`,
    );
  });

  test("[3.7][14.8] with reservations, thresholds, a limit of pids and another period", async (t) => {
    const [systemReserved, kubeReserved] = [
      { cpu: "100m", memory: "300Mi", pid: "500" },
      { cpu: "50m", memory: "200M" },
    ];
    await reconfigure({
      systemReserved,
      kubeReserved,
      podPidsLimit: 1234,
      cpuCFSQuotaPeriod: "20ms",
      evictionHard: { "memory.available": "2%", "nodefs.available": "3%", "imagefs.available": "1%" },
    });
    const reservations = {
      systemReserved: parseResourceList(systemReserved),
      kubeReserved: parseResourceList(kubeReserved),
    };
    const values = kubepodsValues({ ...machine, reservations, enforcePods: true });
    const wanted = expectedFiles(values, await machineCpuset());
    await waitUntil("kubepods to be limited", 30_000, async () => {
      const files = await groupFiles(goPath(KUBEPODS));
      return files["memory/memory.limit_in_bytes"] === wanted["memory/memory.limit_in_bytes"];
    });
    await compareGroup(KUBEPODS, values, "kubepods");
    const thresholds: HardThresholds = new Map([
      ["memory.available", { kind: "fraction", fraction: 0.02 }],
      ["nodefs.available", { kind: "fraction", fraction: 0.03 }],
    ]);
    await waitUntil("the Node to say what is allocatable", 60_000, async () => {
      const { status } = JSON.parse(await cluster.kubectl("get", "node", "n1", "-o", "json")) as Node;
      const allocatable = nodeAllocatable(parseResourceList(status?.capacity), reservations, thresholds);
      assert.deepEqual(texts(allocatable), status?.allocatable);
      return true;
    });
    const names = [
      "guaranteed-fraction",
      "request-below-limit",
      "best-effort",
      "limit-tiny-cpu",
      "overhead-guaranteed",
    ];
    const found = await start(CASES.filter(({ name }) => names.includes(name)));
    const records = await criRecords(cluster.nodes[0] ?? assert.fail("a node"));
    const settings = { podPidsLimit: 1234n, periodUs: 20_000 };
    for (const pod of found) await comparePod(pod, records, settings);
    await end(found);
    t.diagnostic(`in all ${counted.pods} pods, ${counted.groups} groups, ${counted.files} files`);
  });
});

const texts = (list: ResourceList) => Object.fromEntries([...list].map(([name, q]) => [name, formatQuantity(q)]));

async function reconfigure(changes: Readonly<Record<string, unknown>>): Promise<void> {
  const file = join(cluster.nodes[0]?.folder ?? "", "kubelet.json");
  const config = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
  await writeFile(file, JSON.stringify({ ...config, ...changes }));
  await cluster.component("kubelet@n1").restart();
}
