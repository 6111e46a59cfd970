/**
 * Compares the cgroup files and all that the runtime receives for the same pods: under the Go kubelet, and from
 * Deckhand's functions and its adapter. The results of the Go kubelet are recorded, with the pods as the API server
 * returned them. Deckhand's adapter writes real cgroups below its own parent.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { Node, Pod } from "../../src/api/gen/core-v1.ts";
import { formatQuantity, parseQuantity, quantityValue } from "../../src/base/quantity.ts";
import { specAllocation } from "../../src/domain/allocation/pod-allocation.ts";
import { containerHash } from "../../src/domain/container-config/container-hash.ts";
import { isSidecar } from "../../src/domain/pod/containers.ts";
import { cgroupPath, KUBEPODS } from "../../src/domain/resources/cgroup-name.ts";
import type { CgroupName, CgroupValues } from "../../src/domain/resources/cgroup-values.ts";
import { type HardThresholds, kubepodsValues, nodeAllocatable } from "../../src/domain/resources/node-allocatable.ts";
import type { PodResourcePlan } from "../../src/domain/resources/pod-resource-plan.ts";
import { qosCgroupValues } from "../../src/domain/resources/qos-cgroups.ts";
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
import { figure } from "../figures.ts";
import { Recording } from "../golden/recording.ts";
import { comparisonMode, SIDES, type Side } from "../golden/sides.ts";
import {
  type CpusetFiles,
  type CriRecord,
  type GroupFiles,
  groupFiles,
  machineCpuset,
} from "./cgroup-differential/go-side.ts";
import { batches, GoNode, kubepodsOf, type PodSeen, ROOM } from "./cgroup-differential/observe.ts";
import {
  canonical,
  containerFiles,
  containersOf,
  eventsOfKubepods,
  expectedFiles,
  inCri,
  type MachineSide,
  planFor,
  readMachine,
} from "./cgroup-differential/our-side.ts";
import {
  bytesText,
  ofTheMachine,
  scoreOf,
  withoutCpus,
  withoutScore,
  withoutSizes,
} from "./cgroup-differential/relative.ts";
import { CASES, type Case, RUNTIME_CLASS } from "./cgroup-differential/specs.ts";

const forever = new AbortController().signal;
const PARENT = `deckhand-differential-${process.pid}`;

const recording = Recording.open("cgroup-differential");

let machine: MachineSide;
let cpuset: CpusetFiles;
/** The cluster where the Go kubelet runs. */
let cluster: Cluster | undefined;
let go: GoNode | undefined;
/** Deckhand's cgroups, below PARENT. */
let ours: Cgroups;

before(async () => {
  const hierarchies = parseHierarchies(await readFile("/proc/self/mounts", "utf8"));
  ours = createCgroups({ hierarchies, root: [PARENT], driver: cgroupfsDriver, tree: hostTree, clock: hostClock });
  [machine, cpuset] = [await readMachine(), await machineCpuset()];
  if (!SIDES.includes("go")) return;
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "go" }] });
  go = new GoNode(cluster);
  await go.create([RUNTIME_CLASS]);
});

after(async () => {
  if (SIDES.includes("deckhand")) {
    await ours.destroy(KUBEPODS, forever);
    await removeCgroup(`/${PARENT}`);
    assert.deepEqual(await cgroupsLeft(`/${PARENT}`), []);
  }
  await cluster?.down();
});

const theGoNode = () => go ?? assert.fail("the Go kubelet does not run");
const theCluster = () => cluster ?? assert.fail("the Go kubelet does not run");

/** A pod as the API server returned it, and what the Go kubelet did with it, if the Go kubelet runs. */
interface Subject extends Case {
  readonly pod: Pod;
  readonly seen: PodSeen | undefined;
}

/** The pods of the Go kubelet if it runs, otherwise the recorded ones. */
async function subjects(cases: readonly Case[], all: readonly PodSeen[]): Promise<readonly Subject[]> {
  const found: Subject[] = [];
  for (const one of cases) {
    const seen = all.find(({ pod }) => pod.metadata?.name === one.name);
    if (seen !== undefined) await recording.check(`pod ${one.name}`, () => withoutIds(seen.pod));
    found.push({ ...one, pod: seen?.pod ?? recordedPod(one.name), seen });
  }
  return found;
}

const withoutIds = ({ metadata, spec, status }: Pod): Pod => ({
  metadata: { name: metadata?.name ?? "" },
  ...(spec && { spec }),
  status: { qosClass: status?.qosClass ?? "" },
});

function recordedPod(name: string): Pod {
  const [pod] = recording.answers(`pod ${name}`) as readonly Pod[];
  return { ...pod, metadata: { name, uid: randomUUID() } };
}

const seenOf = ({ name, seen }: Subject) => seen ?? assert.fail(`the Go kubelet had no pod ${name}`);

/**
 * Checks Deckhand's answer twice: the values that its functions compute, and what its adapter writes on this kernel.
 */
async function checkGroup(
  question: string,
  { name, values }: { readonly name: CgroupName; readonly values: CgroupValues },
  theirs: () => GroupFiles | Promise<GroupFiles>,
  neutral: (files: GroupFiles) => unknown = (files) => withoutCpus(files, cpuset),
): Promise<void> {
  const ask = (own: () => GroupFiles | Promise<GroupFiles>) =>
    recording.check(question, async (side) => neutral(await (side === "go" ? theirs : own)()));
  await ask(() => expectedFiles(values, cpuset));
  await ask(async () => {
    await ours.apply(name, values);
    return groupFiles(ours.pathOf(name));
  });
}

/** The cgroup of a pod is named after its UID. */
const pathWithoutUid = (path: string, pod: Pod) => path.replace(pod.metadata?.uid ?? "", "<uid>");

async function checkPodGroup(subject: Subject, plan: PodResourcePlan, setting = ""): Promise<void> {
  const { pod } = subject;
  const group = { name: plan.podCgroupName(pod), values: plan.podCgroupValues(pod, specAllocation(pod)) };
  await checkGroup(`${setting}files of ${subject.name}`, group, () => seenOf(subject).files);
}

type ContainerAnswer = (container: string, record: CriRecord) => unknown;

/** By container name. A container that failed and was created again has several records, which are equal. */
function byContainer(side: Side, subject: Subject, theirs: ContainerAnswer, own: (container: string) => unknown) {
  const names = containersOf(subject.pod).map(({ name }) => name);
  if (side === "deckhand") return new Map(names.map((name) => [name, own(name)]));
  return new Map(
    seenOf(subject).containers.map(({ record }) => [record.containerName, theirs(record.containerName, record)]),
  );
}

async function checkContainers(subject: Subject, plan: PodResourcePlan, setting = ""): Promise<void> {
  const { name, pod } = subject;
  const resourcesOf = (container: string) => plan.containerResources(pod, specAllocation(pod), container);
  await recording.check(`${setting}resources of the containers of ${name}`, (side) =>
    byContainer(
      side,
      subject,
      (_, { linux }) => withoutScore(canonical(linux.resources ?? {}), machine),
      (container) => withoutScore(inCri(resourcesOf(container)), machine),
    ),
  );
  await recording.check(`${setting}files of the containers of ${name}`, (side) => {
    if (side === "go") {
      const there = seenOf(subject).containers.flatMap(({ record, files }) =>
        files ? [[record, files] as const] : [],
      );
      return new Map(there.map(([{ containerName }, files]) => [containerName, withoutCpus(files, cpuset)]));
    }
    return new Map(
      stayingOf(pod).map((one) => [one, withoutCpus(containerFiles(resourcesOf(one), cpuset), cpuset)] as const),
    );
  });
}

/** Containers whose cgroup still exists once the pod is ready. */
const stayingOf = ({ spec }: Pod): readonly string[] =>
  [...(spec?.containers ?? []), ...(spec?.initContainers ?? []).filter(isSidecar)].map(({ name }) => name);

void suite("pods of every shape under the Go kubelet and through Deckhand's functions", () => {
  let pods: readonly Subject[];
  let running: readonly Subject[];
  let tiers: readonly ReadonlyMap<string, GroupFiles>[];
  let plan: PodResourcePlan;

  before(async () => {
    plan = planFor(machine, { podPidsLimit: -1n, periodUs: 100_000 });
    const seen = (await go?.observe(CASES)) ?? [];
    tiers = seen.map((batch) => batch.tiers);
    pods = await subjects(
      CASES,
      seen.flatMap((batch) => batch.pods),
    );
    running = pods.filter(({ expect }) => expect === "running");
  });

  test("[14.3][14.4] each pod's cgroup has the Go kubelet's path and values, file by file", async () => {
    assert.ok(pods.length >= 40 && pods.length === CASES.length);
    for (const pod of pods) await checkPodGroup(pod, plan);
  });

  test("[14.6] the runtime gets each container's resources as from the Go kubelet, and the cgroup files match them", async () => {
    for (const pod of running) await checkContainers(pod, plan);
  });

  test("[14.7] each container's oom_score_adj equals the Go kubelet's", async () => {
    const scores = new Set<number>();
    for (const subject of running) {
      const { name, pod } = subject;
      const answer = (container: string, score: number | undefined) => {
        scores.add(score ?? 0);
        return scoreOf(score, pod, container, machine);
      };
      await recording.check(`scores of the containers of ${name}`, (side) =>
        byContainer(
          side,
          subject,
          (container, { linux }) => answer(container, linux.resources?.oom_score_adj),
          (container) => answer(container, plan.containerResources(pod, specAllocation(pod), container).oomScoreAdj),
        ),
      );
    }
    assert.ok(scores.has(-997) && scores.has(1000) && scores.size > 5, [...scores].join(" "));
  });

  test("[27.3.8] each sandbox gets its pod's cgroup parent, summed resources and overhead", async () => {
    for (const subject of running) {
      const { pod } = subject;
      await recording.check(`sandbox of ${subject.name}`, (side) => {
        const name = plan.podCgroupName(pod);
        if (side === "deckhand") {
          const { overhead, resources } = plan.sandboxResources(pod, specAllocation(pod));
          return {
            group: pathWithoutUid(cgroupPath(name, "cgroupfs"), pod),
            resources: withoutSizes(inCri(resources), machine),
            overhead: withoutSizes(inCri(overhead), machine),
          };
        }
        const [sandbox, ...others] = seenOf(subject).sandboxes;
        assert.equal(others.length, 0, `${subject.name} has one sandbox`);
        const { cgroup_parent: parent = "", overhead, resources } = sandbox?.linux ?? {};
        const above = cgroupPath(theGoNode().root, "cgroupfs");
        assert.ok(parent.startsWith(`${above}/`), parent);
        return {
          group: pathWithoutUid(parent.slice(above.length), pod),
          resources: withoutSizes(canonical(resources ?? {}), machine),
          overhead: withoutSizes(canonical(overhead ?? {}), machine),
        };
      });
    }
  });

  test("[27.2.6] each container carries the hash that Deckhand computes", async () => {
    for (const subject of running) {
      const hashOf = (name: string) =>
        containerHash(containersOf(subject.pod).find((one) => one.name === name) ?? assert.fail(name));
      await recording.check(`hashes of the containers of ${subject.name}`, (side) =>
        byContainer(side, subject, (_, { annotations }) => annotations["io.kubernetes.container.hash"], hashOf),
      );
    }
  });

  test("[14.9] QoS cgroups have the CPU shares of their pods' requests, batch by batch", async () => {
    for (const [index, batch] of batches(CASES, ROOM).entries()) {
      const inBatch = pods.filter(({ name }) => batch.some((one) => one.name === name)).map(({ pod }) => pod);
      for (const [name, values] of qosCgroupValues(inBatch, machine.hugepageSizes)) {
        const tier = name.join("/");
        const theirs = () => tiers[index]?.get(tier) ?? assert.fail(`the Go kubelet has no ${tier}`);
        if (values.cpuShares !== undefined)
          await checkGroup(`files of ${tier} in batch ${index}`, { name, values }, theirs);
      }
    }
  });

  test("[14.8] kubepods is limited to the whole machine, and the Node's event equals the Go kubelet's", async () => {
    const reservations = { systemReserved: new Map(), kubeReserved: new Map() };
    await checkKubepods("", reservations);
    await recording.check("event of kubepods", async (side) => {
      if (side === "deckhand") return eventsOfKubepods(ours, PARENT);
      const lines = "jsonpath={range .items[*]}{.type} {.reason} {.message}{'\\n'}{end}";
      const events = (await theCluster().kubectl("get", "events", "-o", lines)).split("\n");
      return events.filter((line) => line.includes("NodeAllocatable"));
    });
    if (comparisonMode !== "record") figure("values compared", recording.compared, "values");
  });
});

async function checkKubepods(setting: string, reservations: Parameters<typeof nodeAllocatable>[1]): Promise<void> {
  const values = kubepodsValues({ ...machine, reservations, enforcePods: true });
  await checkGroup(
    `${setting}files of kubepods`,
    { name: KUBEPODS, values },
    () => kubepodsOf(theGoNode()),
    (files) => ofTheMachine(withoutCpus(files, cpuset), machine),
  );
}

void suite("pods with reservations, eviction thresholds, a PID limit and another CFS period", () => {
  const SETTING = "with reservations: ";
  const systemReserved = { cpu: "100m", memory: "300Mi", pid: "500" };
  const kubeReserved = { cpu: "50m", memory: "200M" };
  const reservations = {
    systemReserved: parseResourceList(systemReserved),
    kubeReserved: parseResourceList(kubeReserved),
  };

  before(async () => {
    if (go === undefined) return;
    await reconfigure({
      systemReserved,
      kubeReserved,
      podPidsLimit: 1234,
      cpuCFSQuotaPeriod: "20ms",
      evictionHard: { "memory.available": "2%", "nodefs.available": "3%", "imagefs.available": "1%" },
    });
    const limit = async () => BigInt((await kubepodsOf(theGoNode()))["memory/memory.limit_in_bytes"]);
    await waitUntil("kubepods to be limited", 30_000, async () => (await limit()) < machine.memoryBytes);
  });

  test("[14.8] kubepods is limited to capacity minus reservations; eviction thresholds are not subtracted", () =>
    checkKubepods(SETTING, reservations));

  test("[3.7] Node allocatable is what Deckhand computes from its capacity", async () => {
    const thresholds: HardThresholds = new Map([
      ["memory.available", { kind: "share", share: 0.02 }],
      ["nodefs.available", { kind: "share", share: 0.03 }],
    ]);
    await recording.check(`${SETTING}allocatable`, async (side) => {
      if (side === "deckhand") {
        const capacity = await capacityOfThisMachine();
        const allocatable = texts(nodeAllocatable(parseResourceList(capacity), reservations, thresholds));
        return ofCapacity(allocatable, capacity);
      }
      let answer: unknown;
      await waitUntil("the Node to say what is allocatable", 60_000, async () => {
        const { status } = JSON.parse(await theCluster().kubectl("get", "node", "n1", "-o", "json")) as Node;
        answer = ofCapacity(status?.allocatable ?? {}, status?.capacity ?? {});
        return status?.allocatable?.["cpu"] !== status?.capacity?.["cpu"];
      });
      return answer;
    });
  });

  test("[14.4][14.6] cgroups of pods and containers follow the PID limit and the CFS period", async () => {
    const names = [
      "guaranteed-fraction",
      "request-below-limit",
      "best-effort",
      "limit-tiny-cpu",
      "overhead-guaranteed",
    ];
    const plan = planFor(machine, { podPidsLimit: 1234n, periodUs: 20_000 });
    const cases = CASES.filter(({ name }) => names.includes(name));
    const seen = ((await go?.observe(cases)) ?? []).flatMap((batch) => batch.pods);
    for (const pod of await subjects(cases, seen)) {
      if (pod.seen !== undefined) assert.equal(pod.seen.files["pids/pids.max"], "1234");
      await checkPodGroup(pod, plan, SETTING);
      await checkContainers(pod, plan, SETTING);
    }
    if (comparisonMode !== "record") figure("values compared in all", recording.compared, "values");
  });
});

const texts = (list: ResourceList) => Object.fromEntries([...list].map(([name, q]) => [name, formatQuantity(q)]));

type Amounts = Readonly<Record<string, string>>;

/** As a Node of this machine reports its capacity. */
async function capacityOfThisMachine(): Promise<Amounts> {
  const { blocks, bsize } = await statfs("/", { bigint: true });
  const pages = machine.hugepageSizes.map((size) => [`hugepages-${size.replace("B", "i")}`, "0"]);
  return {
    cpu: String(machine.cpus),
    memory: bytesText(machine.memoryBytes),
    "ephemeral-storage": bytesText(blocks * bsize),
    pods: "250",
    ...(Object.fromEntries(pages) as Amounts),
  };
}

/** What is withheld from the capacity, in terms of the settings above where the value matches exactly. */
function ofCapacity(allocatable: Amounts, capacity: Amounts): Amounts {
  const bytes = (name: string) => quantityValue(parseQuantity(capacity[name] ?? "0"));
  // Percentages are held in single precision.
  const part = (name: string, share: number) => BigInt(Math.trunc(Number(bytes(name)) * Math.fround(share)));
  const expected: Readonly<Record<string, readonly [text: string, marker: string]>> = {
    cpu: [`${Number(capacity["cpu"]) * 1000 - 150}m`, "<capacity> - 150m"],
    memory: [
      bytesText(bytes("memory") - 300n * 2n ** 20n - 200_000_000n - part("memory", 0.02)),
      "<capacity> - 300Mi - 200M - 2%",
    ],
    "ephemeral-storage": [bytesText(bytes("ephemeral-storage") - part("ephemeral-storage", 0.03)), "<capacity> - 3%"],
  };
  return Object.fromEntries(
    Object.entries(allocatable).map(([name, text]) => [
      name.replace(/^hugepages-.*/, "hugepages-<any size>"),
      expected[name]?.[0] === text ? expected[name][1] : text,
    ]),
  );
}

async function reconfigure(changes: Readonly<Record<string, unknown>>): Promise<void> {
  const file = join(theGoNode().node.directory, "kubelet.json");
  const config = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
  await writeFile(file, JSON.stringify({ ...config, ...changes }));
  await theCluster().component("kubelet@n1").restart();
}
