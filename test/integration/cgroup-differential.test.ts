/**
 * The same pods under the Go kubelet and through our functions and our adapter: every cgroup file, everything the runtime is told.
 * Ours writes below a parent of its own, beside the cluster's.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { Node, Pod } from "../../src/api/gen/core-v1.ts";
import { formatQuantity } from "../../src/base/quantity.ts";
import { containerHash } from "../../src/domain/pod/container-hash.ts";
import { cgroupPath, KUBEPODS } from "../../src/domain/resources/cgroup-name.ts";
import type { CgroupName, CgroupValues } from "../../src/domain/resources/cgroup-values.ts";
import { type HardThresholds, kubepodsValues, nodeAllocatable } from "../../src/domain/resources/node-allocatable.ts";
import type { PodResourcePlan } from "../../src/domain/resources/pod-resource-plan.ts";
import { qosTierValues } from "../../src/domain/resources/qos-tiers.ts";
import { parseResourceList, type ResourceList } from "../../src/domain/resources/resource-list.ts";
import type { Cgroups } from "../../src/ports/cgroups.ts";
import { createCgroups } from "../../src/wire/cgroupfs/cgroups.ts";
import { cgroupfsDriver } from "../../src/wire/cgroupfs/driver.ts";
import { parseHierarchies } from "../../src/wire/cgroupfs/hierarchies.ts";
import { hostTree } from "../../src/wire/cgroupfs/tree.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { cgroupsLeft, removeCgroup } from "../cluster/cgroups.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { FILES, type GroupFiles, groupFiles, machineCpuset } from "./cgroup-differential/go-side.ts";
import { type BatchSeen, GoNode, kubepodsOf, type PodSeen } from "./cgroup-differential/observe.ts";
import {
  canonical,
  containerFiles,
  containersOf,
  expectedFiles,
  inCri,
  type MachineSide,
  planFor,
  readMachine,
} from "./cgroup-differential/our-side.ts";
import { CASES, RUNTIME_CLASS } from "./cgroup-differential/specs.ts";

const forever = new AbortController().signal;
const PARENT = `deckhand-differential-${process.pid}`;

let cluster: Cluster;
let go: GoNode;
let ours: Cgroups;
let machine: MachineSide;
let filesCompared = 0;

before(async () => {
  const hierarchies = parseHierarchies(await readFile("/proc/self/mounts", "utf8"));
  ours = createCgroups({ hierarchies, root: [PARENT], driver: cgroupfsDriver, tree: hostTree, clock: hostClock });
  machine = await readMachine();
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "go" }] });
  go = new GoNode(cluster);
  await go.create([RUNTIME_CLASS]);
});

after(async () => {
  await ours.destroy(KUBEPODS, forever);
  await removeCgroup(`/${PARENT}`);
  assert.deepEqual(await cgroupsLeft(`/${PARENT}`), []);
  await cluster.down();
});

const titleOf = (pod: Pod) => pod.metadata?.name ?? "";

/** Theirs against what we compute, and against what our adapter makes of it on the same kernel. */
async function compareGroup(name: CgroupName, values: CgroupValues, theirs: GroupFiles, what: string): Promise<void> {
  const computed = expectedFiles(values, await machineCpuset());
  assert.deepEqual(theirs, computed, `${what}: the Go kubelet's files and our values`);
  await ours.apply(name, values);
  assert.deepEqual(await groupFiles(ours.pathOf(name)), theirs, `${what}: our files and the Go kubelet's`);
  filesCompared += FILES.length;
}

async function comparePodGroup({ pod, files }: PodSeen, plan: PodResourcePlan): Promise<void> {
  const { name, values } = plan.podCgroup(pod);
  await compareGroup(name, values, files, titleOf(pod));
}

async function compareContainers({ pod, containers }: PodSeen, plan: PodResourcePlan): Promise<number> {
  for (const { record, files } of containers) {
    const where = `${titleOf(pod)}/${record.containerName}`;
    const resources = plan.containerResources(pod, record.containerName);
    assert.deepEqual(canonical(record.linux.resources ?? {}), inCri(resources), where);
    if (files === undefined) continue;
    assert.deepEqual(
      files,
      containerFiles(resources, await machineCpuset()),
      `${where}: the files the runtime made of it`,
    );
    filesCompared += FILES.length;
  }
  return containers.length;
}

void suite("pods of every shape under the Go kubelet, and what we make of them", () => {
  let batches: readonly BatchSeen[];
  let pods: readonly PodSeen[];
  let plan: PodResourcePlan;

  before(async () => {
    plan = planFor(machine, { podPidsLimit: -1n, periodUs: 100_000 });
    batches = await go.observe(CASES);
    pods = batches.flatMap((batch) => batch.pods);
  });

  test("[14.3][14.4] each pod's group is where it should be and holds what it should, file by file", async (t) => {
    assert.ok(pods.length >= 40 && pods.length === CASES.length);
    for (const pod of pods) await comparePodGroup(pod, plan);
    t.diagnostic(`${pods.length} pods, ${filesCompared} files compared`);
  });

  test("[14.6] each container's resources are told to the runtime alike, and its files follow", async (t) => {
    const before = filesCompared;
    let compared = 0;
    for (const pod of pods) compared += await compareContainers(pod, plan);
    for (const { pod, containers, expect } of pods) {
      const told = containers.map(({ record }) => record.containerName);
      const all = containersOf(pod).map(({ name }) => name);
      if (expect === "running") assert.deepEqual(told.toSorted(), all.toSorted(), titleOf(pod));
    }
    t.diagnostic(`${compared} containers, ${filesCompared - before} files compared`);
  });

  test("[14.7] each container's place in the order of killing is the same", () => {
    const seen = new Set<number>();
    for (const { pod, containers } of pods) {
      for (const { record } of containers) {
        const { oomScoreAdj } = plan.containerResources(pod, record.containerName);
        assert.equal(oomScoreAdj, record.linux.resources?.oom_score_adj, `${titleOf(pod)}/${record.containerName}`);
        seen.add(oomScoreAdj ?? 0);
      }
    }
    assert.ok(seen.has(-997) && seen.has(1000) && seen.size > 5, [...seen].join(" "));
  });

  test("[27.3.8] each sandbox is given its pod's group, the sum and the overhead", (t) => {
    let compared = 0;
    for (const { pod, sandboxes, expect } of pods) {
      const { overhead, resources } = plan.sandboxResources(pod);
      if (expect === "running") assert.equal(sandboxes.length, 1, titleOf(pod));
      for (const { linux } of sandboxes) {
        assert.equal(linux.cgroup_parent, cgroupPath([...go.root, ...plan.podCgroup(pod).name], "cgroupfs"));
        assert.deepEqual(canonical(linux.resources ?? {}), inCri(resources), titleOf(pod));
        assert.deepEqual(canonical(linux.overhead ?? {}), inCri(overhead), titleOf(pod));
        compared += 1;
      }
    }
    t.diagnostic(`${compared} sandboxes compared`);
  });

  test("[27.2.6] each container carries the hash we compute", () => {
    for (const { pod, containers } of pods) {
      for (const { record } of containers) {
        const container = containersOf(pod).find(({ name }) => name === record.containerName);
        assert.ok(container !== undefined);
        assert.equal(record.annotations["io.kubernetes.container.hash"], containerHash(container));
      }
    }
  });

  test("[14.9] the tiers weigh what their pods request, batch by batch", async () => {
    for (const { pods: batch, tiers } of batches) {
      for (const [name, values] of qosTierValues(
        batch.map(({ pod }) => pod),
        machine.hugepageSizes,
      )) {
        const theirs = tiers.get(name.join("/"));
        if (values.cpuShares !== undefined) await compareGroup(name, values, theirs ?? assert.fail(), name.join("/"));
      }
    }
  });

  test("[14.8] kubepods is held to the whole machine, and the Node's event says so in the same words", async (t) => {
    const reservations = { systemReserved: new Map(), kubeReserved: new Map() };
    const values = kubepodsValues({ ...machine, reservations, enforcePods: true });
    await compareGroup(KUBEPODS, values, await kubepodsOf(go), "kubepods");
    const lines = "jsonpath={range .items[*]}{.reason}: {.message}{'\\n'}{end}";
    const events = await cluster.kubectl("get", "events", "-o", lines);
    assert.match(events, /^NodeAllocatableEnforced: Updated Node Allocatable limit across pods$/m);
    t.diagnostic(`${filesCompared} files compared in all`);
  });
});

void suite("the same with reservations, thresholds, a limit of pids and another period", () => {
  const systemReserved = { cpu: "100m", memory: "300Mi", pid: "500" };
  const kubeReserved = { cpu: "50m", memory: "200M" };
  const reservations = {
    systemReserved: parseResourceList(systemReserved),
    kubeReserved: parseResourceList(kubeReserved),
  };

  before(() =>
    reconfigure({
      systemReserved,
      kubeReserved,
      podPidsLimit: 1234,
      cpuCFSQuotaPeriod: "20ms",
      evictionHard: { "memory.available": "2%", "nodefs.available": "3%", "imagefs.available": "1%" },
    }),
  );

  test("[14.8] kubepods is held to what is left, the eviction threshold not subtracted", async () => {
    const values = kubepodsValues({ ...machine, reservations, enforcePods: true });
    const wanted = expectedFiles(values, await machineCpuset());
    const isLimited = async () => {
      return (await kubepodsOf(go))["memory/memory.limit_in_bytes"] === wanted["memory/memory.limit_in_bytes"];
    };
    await waitUntil("kubepods to be limited", 30_000, isLimited);
    await compareGroup(KUBEPODS, values, await kubepodsOf(go), "kubepods");
  });

  test("[3.7] the Node says it can give what we compute from its capacity", async () => {
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
  });

  test("[14.4][14.6] pods and containers follow the node's settings", async (t) => {
    const names = [
      "guaranteed-fraction",
      "request-below-limit",
      "best-effort",
      "limit-tiny-cpu",
      "overhead-guaranteed",
    ];
    const plan = planFor(machine, { podPidsLimit: 1234n, periodUs: 20_000 });
    const before = filesCompared;
    const seen = await go.observe(CASES.filter(({ name }) => names.includes(name)));
    for (const pod of seen.flatMap(({ pods }) => pods)) {
      assert.equal(pod.files["pids/pids.max"], "1234");
      await comparePodGroup(pod, plan);
      await compareContainers(pod, plan);
    }
    t.diagnostic(`${names.length} pods, ${filesCompared - before} files compared`);
  });
});

const texts = (list: ResourceList) => Object.fromEntries([...list].map(([name, q]) => [name, formatQuantity(q)]));

async function reconfigure(changes: Readonly<Record<string, unknown>>): Promise<void> {
  const file = join(go.node.folder, "kubelet.json");
  const config = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
  await writeFile(file, JSON.stringify({ ...config, ...changes }));
  await cluster.component("kubelet@n1").restart();
}
