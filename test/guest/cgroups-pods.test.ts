/**
 * Pods of many shapes under Deckhand in a guest, with cgroup v2 and each driver. Every file of every cgroup matches the
 * recorded one of the Go kubelet; with systemd the properties of the units match too. Most pods wait for a volume that
 * never appears: they have their cgroup and cost no container.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Container, Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import { quantityMilliValue, quantityValue } from "../../src/base/quantity.ts";
import { sharesOf, weightOf } from "../../src/domain/resources/cpu-units.ts";
import { podRequests } from "../../src/domain/resources/pod-resources.ts";
import { qosCgroupValues } from "../../src/domain/resources/qos-cgroups.ts";
import { parseResourceList } from "../../src/domain/resources/resource-list.ts";
import type { CgroupDriver } from "../../src/domain/runtime/runtime-info.ts";
import { defaultPod } from "../../src/domain/static-pods/static-pod-defaults.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { Recording } from "../golden/recording.ts";
import { comparisonMode, SIDES, type Side } from "../golden/sides.ts";
import { batches } from "../integration/cgroup-differential/observe.ts";
import { less } from "../integration/cgroup-differential/relative.ts";
import { CASES, type Case } from "../integration/cgroup-differential/specs.ts";
import { seed, wholeSize } from "../size.ts";
import {
  type Agent,
  configuration,
  containerGroups,
  deckhandPayloads,
  type Groups,
  podGroups,
  readGroups,
  setPods,
  startAgent,
  stopAgent,
  useDriver,
  waitForGroups,
  withoutContainerIds,
} from "../support/guest-agents.ts";
import { randomPods } from "../support/random-pods.ts";
import type { Guest } from "./guest.ts";
import { resumeGuest } from "./guests.ts";

interface Setting {
  readonly driver: CgroupDriver;
  /** The feature gate MemoryQoS; with it the first batch of pods is enough. */
  readonly memoryQos: boolean;
}

interface Size {
  readonly drawn: number;
  readonly known: number;
  readonly least: number;
  readonly settings: readonly Setting[];
}

const SYSTEMD: Setting = { driver: "systemd", memoryQos: false };
const GATE: Size = { drawn: 6, known: 6, least: 16, settings: [SYSTEMD] };
const WHOLE: Size = {
  drawn: 70,
  known: CASES.length,
  least: 100,
  settings: [SYSTEMD, { driver: "cgroupfs", memoryQos: false }, { driver: "systemd", memoryQos: true }],
};

/**
 * The recording holds the pods of the gate. Those of the whole size take more than half an hour in an emulated guest,
 * and each proof draws others: they are compared with a Go kubelet that runs.
 */
const RECORDED_SEED = 1;
const SIZE = wholeSize() ? WHOLE : GATE;
const isRecorded = comparisonMode !== "live" || (SIZE === GATE && seed() === RECORDED_SEED);

const recording = Recording.open("cgroups-pods");

/** The cases whose containers run. */
const RUNNING = new Set(["guaranteed-fraction", "request-below-limit", "best-effort", "pod-level-limits"]);
/** The capacity of a guest for pods; either agent rejects pods that request more. */
const ROOM = { milliCpu: 1500n, bytes: 2n * 2n ** 30n };

/** Applies the API's defaults: under either agent a limit without a request counts as the request. */
const withDefaults = (spec: PodSpec): PodSpec => defaultPod({ metadata: { name: "any" }, spec }).spec ?? spec;

/** Whether a guest can run the pod: no RuntimeClass, and no more CPU and memory than the guest has. */
function isPossible({ spec }: { readonly spec: PodSpec }): boolean {
  const requests = podRequests(withDefaults(spec), { overhead: true });
  const [cpu, memory] = [requests.get("cpu"), requests.get("memory")];
  return (
    spec.runtimeClassName === undefined &&
    (cpu === undefined || quantityMilliValue(cpu) <= ROOM.milliCpu) &&
    (memory === undefined || quantityValue(memory) <= ROOM.bytes)
  );
}

const SHAPES: readonly Case[] = [
  ...CASES.filter(({ name }) => RUNNING.has(name)),
  ...CASES.filter((one) => isPossible(one) && !RUNNING.has(one.name)).slice(0, SIZE.known),
  ...randomPods(2 * SIZE.drawn, seed())
    .map((spec, index) => ({ name: `drawn-${index}`, spec, expect: "cgroup" as const }))
    .filter(isPossible)
    .slice(0, SIZE.drawn),
];

const NEVER = { name: "never", hostPath: { path: "/nowhere/at/all", type: "Directory" } };

/**
 * Half of the pods have a UID with dashes, as the API server assigns it; the others have one as a kubelet generates it
 * for a file. Each kubelet would generate a different UID, so the manifest contains it.
 */
function podOf({ name, spec }: { readonly name: string; readonly spec: PodSpec }, index: number): Pod {
  const { nodeName: _, ...rest } = spec;
  const [first, ...others] = rest.containers;
  const waits = !RUNNING.has(name) && first !== undefined;
  const waiting: Container[] = waits ? [{ ...first, volumeMounts: [{ name: "never", mountPath: "/never" }] }] : [];
  const hex = createHash("md5").update(name).digest("hex");
  const uid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid: index % 2 === 0 ? uid : hex },
    spec: {
      ...rest,
      hostNetwork: true,
      terminationGracePeriodSeconds: 0,
      ...(waits && { volumes: [NEVER], containers: [...waiting, ...others] }),
    },
  };
}

function podNamed(name: string): Pod {
  const index = SHAPES.findIndex((one) => one.name === name);
  return podOf(SHAPES[index] ?? assert.fail(name), index);
}

/** Batches of pods that fit the guest together. */
const BATCHES = batches(
  SHAPES.map((one) => ({ ...one, spec: withDefaults(one.spec) })),
  ROOM,
).map((batch) => batch.map(({ name }) => podNamed(name)));

const running = (pods: readonly Pod[]) => pods.filter(({ metadata }) => RUNNING.has(metadata?.name ?? ""));
/** The number of containers of the pods, sandboxes included. */
const containersIn = (pods: readonly Pod[]) =>
  running(pods).reduce((count, { spec }) => count + 1 + (spec?.containers.length ?? 0), 0);

/**
 * The cgroups of app containers: neither sandboxes, which belong to the runtime, nor containers that are still being
 * created.
 */
const appGroups = (groups: Groups) =>
  containerGroups(groups).filter((group) => groups.get(group)?.["memory.oom.group"] === "1");

const UNIT_PROPERTIES = [
  "Id",
  "ActiveState",
  "Transient",
  "Wants",
  "Slice",
  "DefaultDependencies",
  "CPUAccounting",
  "MemoryAccounting",
  "IOAccounting",
  "TasksAccounting",
  "CPUWeight",
  "CPUQuotaPerSecUSec",
  "CPUQuotaPeriodUSec",
  "AllowedCPUs",
  "MemoryMin",
  "MemoryLow",
  "MemoryHigh",
  "MemoryMax",
  "MemorySwapMax",
  "TasksMax",
];

interface Seen {
  readonly groups: readonly Groups[];
  readonly units: readonly string[];
  /** The values of a cgroup that no agent has written to. */
  readonly untouched: Readonly<Record<string, string>>;
}

/**
 * The cpu.weight of the Burstable cgroup once the agent has observed all pods, with limits counted as requests where no
 * request is given.
 */
const burstableWeight = (pods: readonly Pod[]) => {
  const shares = qosCgroupValues(pods.map(defaultPod), []).find(([name]) => name.at(-1) === "burstable")?.[1].cpuShares;
  return String(weightOf(shares ?? sharesOf(0n)));
};

const countsOf = (now: Groups) => ({
  pods: podGroups(now).length,
  containers: containerGroups(now).length,
  whole: appGroups(now).length,
  burstable: [...now].find(([group]) => /\/(kubepods-)?burstable(\.slice)?$/.test(group))?.[1]["cpu.weight"],
});

async function observe(guest: Guest, agent: Agent, config: object, all: readonly (readonly Pod[])[]): Promise<Seen> {
  const startedMs = performance.now();
  await startAgent(guest, agent, config);
  const [groups, units]: [Groups[], string[]] = [[], []];
  for (const pods of all) {
    await setPods(guest, pods);
    const wanted = {
      pods: pods.length,
      containers: containersIn(pods),
      whole: containersIn(pods) - running(pods).length,
      burstable: burstableWeight(pods),
    };
    const isThere = (now: Groups) => isDeepStrictEqual(countsOf(now), wanted);
    const what = `the groups of ${pods.length} pods under ${agent}`;
    await waitForGroups(guest, what, isThere).catch(async (error: unknown) => {
      const said = await guest.run("journalctl --unit agent --no-pager | tail -n 20");
      const found = countsOf(await readGroups(guest));
      throw new Error(JSON.stringify({ wanted, found }) + said.stdout, { cause: error });
    });
    groups.push(await unchangedGroups(guest));
    units.push(await guest.must(`systemctl show 'kubepods*.slice' --property=${UNIT_PROPERTIES.join(",")}`));
    await setPods(guest, []);
    await waitForGroups(guest, `the groups to go under ${agent}`, (now) => podGroups(now).length === 0);
  }
  await stopAgent(guest);
  figure(`${agent}: ${all.flat().length} pods made, read and removed`, Math.round(performance.now() - startedMs), "ms");
  return { groups, units, untouched: await untouchedGroup(guest) };
}

const WRITTEN_MS_MAX = 5 * 60_000;

/** The files of a cgroup are written a while after its creation: reads them until they stay as they are. */
async function unchangedGroups(guest: Guest): Promise<Groups> {
  let groups = await readGroups(guest);
  const isUnchanged = async () => {
    await guest.must("sleep 3");
    const before = groups;
    groups = await readGroups(guest);
    return isDeepStrictEqual(groups, before);
  };
  await waitUntil("the files of the groups to stay as they are", WRITTEN_MS_MAX, isUnchanged);
  return groups;
}

/** The files of a cgroup that the kernel has just created, with every controller. */
async function untouchedGroup(guest: Guest): Promise<Readonly<Record<string, string>>> {
  const text = await guest.must(`cd /sys/fs/cgroup
    for controller in $(cat cgroup.controllers); do echo "+$controller" > cgroup.subtree_control; done
    mkdir untouched
    find untouched -type f -perm -u=w ! -name 'cgroup.*' -exec grep -H '' {} + || true
    rmdir untouched`);
  const lines = text.split("\n").filter((line) => line !== "");
  const entries = lines.map((line): readonly [string, string] => {
    const [, file = "", value = ""] = /^untouched\/([^:]*):(.*)$/.exec(line) ?? [];
    return [file, value];
  });
  return Object.fromEntries(entries);
}

/** Removes kubepods, so that the next agent must create all of it. */
const forgetKubepods = (guest: Guest) =>
  guest.must(`systemctl stop kubepods.slice 2>/dev/null || true
    if [ -d /sys/fs/cgroup/kubepods ]; then find /sys/fs/cgroup/kubepods -depth -type d -exec rmdir {} +; fi`);

const UNSET_CPUSET: Readonly<Record<string, string>> = {
  "cpuset.cpus": "",
  "cpuset.mems": "",
  "cpuset.cpus.partition": "member",
};

/**
 * Removes unset cpuset values from the comparison. An agent enables every controller for a new cgroup. systemd disables
 * cpuset again for a slice without assigned CPUs whenever a property of the slice is set, unless containers run below
 * it. Whether a QoS cgroup without containers has the controller depends on which of them wrote last.
 */
const withoutUnsetCpusets = (groups: Groups): Groups =>
  new Map(
    [...groups].map(([group, files]) => {
      const others = Object.entries(files).filter(([file, value]) => UNSET_CPUSET[file] !== value);
      const control = "cgroup.subtree_control";
      const kept = others.map(([file, value]) => [file, file === control ? value.replace("cpuset ", "") : value]);
      return [group, Object.fromEntries(kept) as Readonly<Record<string, string>>];
    }),
  );

/** The totals of the guest. The limits of all pods together are compared as the difference from these totals. */
interface Whole {
  readonly memoryBytes: bigint;
  readonly processIds: bigint;
}

async function wholeGuest(guest: Guest): Promise<Whole> {
  const text = await guest.must(
    "grep MemTotal /proc/meminfo; cat /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max",
  );
  const [kib = 0n, pids = 0n, threads = 0n] = (text.match(/\d+/g) ?? []).map(BigInt);
  return { memoryBytes: 1024n * kib, processIds: pids < threads ? pids : threads };
}

/** The cgroups without files that hold the kernel's defaults: another kernel release may have others. */
function neutralGroups(groups: Groups, { untouched }: Seen, { memoryBytes, processIds }: Whole): unknown {
  const written = [...groups].map(([group, files]) => {
    const isAll = /^\/kubepods(?:\.slice)?$/.test(group);
    const kept = Object.entries(files)
      .filter(([file, value]) => untouched[file] !== value)
      .map(([file, value]) => {
        if (!isAll || !/^\d+$/.test(value)) return [file, value];
        if (file === "memory.max") return [file, less(value, memoryBytes, "all memory")];
        if (file === "pids.max") return [file, less(value, processIds, "all process ids")];
        return [file, value];
      });
    return [group, Object.fromEntries(kept) as Readonly<Record<string, string>>] as const;
  });
  return withoutContainerIds(new Map(written));
}

const neutralUnits = (units: string, { memoryBytes, processIds }: Whole) =>
  units
    .trim()
    .split("\n\n")
    .map((unit) => {
      const lines = unit.split("\n").toSorted();
      if (!lines.includes("Id=kubepods.slice")) return lines;
      return lines.map((line) =>
        line
          .replace(/(?<=^MemoryMax=)\d+$/, (value) => less(value, memoryBytes, "all memory"))
          .replace(/(?<=^TasksMax=)\d+$/, (value) => less(value, processIds, "all process ids")),
      );
    })
    .toSorted((a, b) => (String(a) < String(b) ? -1 : 1));

for (const { driver, memoryQos } of SIZE.settings) {
  const driverAndGate = `${driver} driver${memoryQos ? " and the gate MemoryQoS" : ""}`;
  const all = memoryQos ? BATCHES.slice(0, 1) : BATCHES;
  void suite(`pods of every shape with the ${driverAndGate} on cgroup v2, under the Go kubelet and Deckhand`, () => {
    let guest: Guest;
    let scratch: string;
    let whole: Whole;
    const seen = new Map<Agent, Seen>();

    before(async () => {
      scratch = await mkdtemp(join(tmpdir(), "deckhand-guest-"));
      guest = await resumeGuest();
      await guest.put(await deckhandPayloads());
      await useDriver(guest, driver);
      await guest.must("echo 128 > /proc/sys/vm/nr_hugepages");
      whole = await wholeGuest(guest);
      // Agents use the runtime's driver, not the configured one.
      const config = configuration({
        cgroupDriver: otherThan(driver),
        podPidsLimit: 1234,
        ...(memoryQos && { featureGates: { MemoryQoS: true }, memoryReservationPolicy: "TieredReservation" }),
      });
      for (const side of SIDES) {
        seen.set(side, await observe(guest, side, config, all));
        await forgetKubepods(guest);
      }
    });
    after(async () => {
      await guest.close();
      await rm(scratch, { recursive: true });
    });
    const by = (side: Side) => seen.get(side) ?? assert.fail(`${side} was not observed`);

    /** Compares with the recording, and with the other agent where both run. */
    async function check(what: string, answerOf: (side: Side) => unknown): Promise<void> {
      if (comparisonMode === "live") assert.deepEqual(answerOf("deckhand"), answerOf("go"), what);
      if (isRecorded) await recording.check(`${driver}: ${what}`, answerOf);
    }

    test("[14.2] [14.3] [14.4] every file of every cgroup is the same and at the path of the runtime's driver", async (t) => {
      assert.ok(SHAPES.length >= SIZE.least, String(SHAPES.length));
      const root = driver === "systemd" ? "/kubepods.slice" : "/kubepods";
      let files = 0;
      for (const [index, pods] of all.entries()) {
        await check(`groups of batch ${index}`, (side) => {
          const groups = by(side).groups[index] ?? assert.fail(`no batch ${index}`);
          assert.ok([...groups.keys()].every((group) => group === root || group.startsWith(`${root}/`)));
          assert.equal(podGroups(groups).length, pods.length);
          for (const [, written] of groups) files += Object.keys(written).length;
          return neutralGroups(driver === "systemd" ? withoutUnsetCpusets(groups) : groups, by(side), whole);
        });
      }
      t.diagnostic(`${SHAPES.length} pods, ${files} files compared`);
    });

    test("[14.1] kubepods enables all controllers for its children", () => {
      for (const side of SIDES) {
        for (const groups of by(side).groups) {
          const kubepods = groups.get(driver === "systemd" ? "/kubepods.slice" : "/kubepods");
          const control = kubepods?.["cgroup.subtree_control"];
          const controllers = new Set(control?.split(" "));
          for (const one of ["cpu", "memory", "hugetlb", "pids"])
            assert.ok(controllers.has(one), `${side}: ${control}`);
        }
      }
    });

    test("[7.29] [14.6] [14.10] containers have memory.oom.group 1 and memory.swap.max 0 under either agent", () => {
      for (const { groups } of SIDES.map(by)) {
        const apps = groups.flatMap((now) => appGroups(now).map((group) => now.get(group)));
        assert.ok(apps.length >= RUNNING.size);
        for (const files of apps) assert.equal(files?.["memory.swap.max"], "0");
      }
    });

    if (!memoryQos)
      test("[25.10] pod's cgroup limits huge pages to the pod's request", () => {
        const wanted = new Map(all.flat().map((pod) => [pod.metadata?.uid ?? "", hugePageBytes(pod)]));
        assert.ok([...wanted.values()].some((bytes) => bytes !== "0"));
        for (const side of SIDES) {
          const found = by(side).groups.flatMap((groups) =>
            podGroups(groups).map((group): [string, string | undefined] => [
              uidOfGroup(group),
              groups.get(group)?.["hugetlb.2MB.max"],
            ]),
          );
          assert.deepEqual(
            new Map(found),
            new Map([...wanted].map(([uid, bytes]) => [uid.replaceAll("-", "_"), bytes])),
          );
        }
      });

    if (memoryQos) {
      test("[14.11] with MemoryQoS a container's cgroup has its request in memory.min or memory.low and is throttled below its limit", () => {
        for (const side of SIDES) {
          const containers = by(side).groups.flatMap((groups) => appGroups(groups).map((group) => groups.get(group)));
          const memory = containers.map((files) => MEMORY_FILES.map((file) => files?.[file]).join(" "));
          // guaranteed-fraction: 48Mi; request-below-limit: 16Mi of 64Mi, and nine tenths of the way from request to
          // limit, in pages.
          for (const one of ["50331648 0 max", "0 16777216 62074880"])
            assert.ok(memory.includes(one), memory.join("; "));
        }
      });
    }

    if (driver === "systemd") {
      test("[14.3] [14.4] systemd reports the same properties of each slice", async () => {
        for (const index of all.keys()) {
          await check(`units of batch ${index}`, (side) => {
            const units = by(side).units[index] ?? assert.fail(`no batch ${index}`);
            assert.match(units, /^Transient=yes$/m);
            return neutralUnits(units, whole);
          });
        }
      });
    }
  });
}

const MEMORY_FILES = ["memory.min", "memory.low", "memory.high"] as const;

/** The highest request of the pod at any time: an init container runs beside the sidecars before it. */
function hugePageBytes({ spec }: Pod): string {
  const bytesOf = ({ resources }: Container) => {
    const pages = parseResourceList(resources?.limits).get("hugepages-2Mi");
    return pages === undefined ? 0n : quantityValue(pages);
  };
  const sum = (containers: readonly Container[]) => containers.reduce((bytes, one) => bytes + bytesOf(one), 0n);
  const all = spec?.initContainers ?? [];
  const sidecars = all.filter(({ restartPolicy }) => restartPolicy === "Always");
  const running = sum(sidecars) + sum(spec?.containers ?? []);
  const starting = all.map((one, index) => {
    const before = all.slice(0, index).filter(({ restartPolicy }) => restartPolicy === "Always");
    return sum(before) + bytesOf(one);
  });
  return String([running, ...starting].reduce((most, bytes) => (bytes > most ? bytes : most), 0n));
}

/** The pod's UID with underscores, as in the name of a slice. */
const uidOfGroup = (group: string): string =>
  /pod([0-9a-f][0-9a-f_-]+?)(?:\.slice)?$/.exec(group)?.[1]?.replaceAll("-", "_") ?? assert.fail(group);

const otherThan = (driver: CgroupDriver): CgroupDriver => (driver === "systemd" ? "cgroupfs" : "systemd");
