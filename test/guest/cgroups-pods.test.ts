/**
 * Pods of many shapes under Deckhand in a guest, with cgroup v2 and each driver: every file of every group is as the Go
 * kubelet's, which is recorded, and with systemd what the units say is the same too. Most pods wait for a volume that
 * never comes: they have their group, and cost no container.
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
import { qosTierValues } from "../../src/domain/resources/qos-tiers.ts";
import type { CgroupDriver } from "../../src/domain/runtime/runtime-info.ts";
import { defaultPod } from "../../src/domain/static-pods/static-pod-defaults.ts";
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
import { podsOfChance } from "../support/pods-of-chance.ts";
import type { Guest } from "./guest.ts";
import { resumeGuest } from "./guests.ts";

interface Size {
  readonly drawn: number;
  readonly known: number;
  readonly least: number;
  readonly drivers: readonly CgroupDriver[];
}

const GATE: Size = { drawn: 6, known: 6, least: 16, drivers: ["systemd"] };
const WHOLE: Size = { drawn: 70, known: CASES.length, least: 100, drivers: ["systemd", "cgroupfs"] };

/**
 * The recording holds the gate's pods. Those of the whole size are more than half an hour of an emulated guest, and a
 * proof draws others each time: they are compared with a Go kubelet that runs.
 */
const RECORDED_SEED = 1;
const SIZE = wholeSize() ? WHOLE : GATE;
const isRecorded = comparisonMode !== "live" || (SIZE === GATE && seed() === RECORDED_SEED);

const recording = Recording.open("cgroups-pods");

/** These run. */
const RUNNING = new Set(["guaranteed-fraction", "request-below-limit", "best-effort", "pod-level-limits"]);
/** What a guest has for pods; either agent rejects what requests more. */
const ROOM = { milliCpu: 1500n, bytes: 2n * 2n ** 30n };

/** What is only limited counts as requested under either agent. */
const withDefaults = (spec: PodSpec): PodSpec => defaultPod({ metadata: { name: "any" }, spec }).spec ?? spec;

/** Nothing that a guest has not got: a RuntimeClass, so many CPUs, so much memory. */
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
  ...podsOfChance(2 * SIZE.drawn, seed())
    .map((spec, index) => ({ name: `drawn-${index}`, spec, expect: "cgroup" as const }))
    .filter(isPossible)
    .slice(0, SIZE.drawn),
];

const NEVER = { name: "never", hostPath: { path: "/nowhere/at/all", type: "Directory" } };

/**
 * Half of them have a UID as the API server gives it, with dashes; the others as a kubelet makes one for a file (each
 * makes its own, so the file says it).
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

/** As many at once as fit the guest. */
const BATCHES = batches(
  SHAPES.map((one) => ({ ...one, spec: withDefaults(one.spec) })),
  ROOM,
).map((batch) => batch.map(({ name }) => podNamed(name)));

const running = (pods: readonly Pod[]) => pods.filter(({ metadata }) => RUNNING.has(metadata?.name ?? ""));
/** Each with its sandbox. */
const containersIn = (pods: readonly Pod[]) =>
  running(pods).reduce((count, { spec }) => count + 1 + (spec?.containers.length ?? 0), 0);

/** Not the sandboxes, which are the runtime's own, nor what is still being made. */
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
  /** The values of a group that nobody has written to. */
  readonly untouched: Readonly<Record<string, string>>;
}

/**
 * As the tier of Burstable pods weighs once the agent has heard of all of them, and has taken for requested what is
 * only limited.
 */
const burstableWeight = (pods: readonly Pod[]) => {
  const shares = qosTierValues(pods.map(defaultPod), []).find(([name]) => name.at(-1) === "burstable")?.[1].cpuShares;
  return String(weightOf(shares ?? sharesOf(0n)));
};

const countsOf = (now: Groups) => ({
  pods: podGroups(now).length,
  containers: containerGroups(now).length,
  whole: appGroups(now).length,
  burstable: [...now].find(([group]) => /\/(kubepods-)?burstable(\.slice)?$/.test(group))?.[1]["cpu.weight"],
});

async function observe(guest: Guest, agent: Agent, config: object): Promise<Seen> {
  const startedMs = performance.now();
  await startAgent(guest, agent, config);
  const [groups, units]: [Groups[], string[]] = [[], []];
  for (const pods of BATCHES) {
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
    // Who makes a group writes its files a moment later.
    await guest.must("sleep 3");
    groups.push(await readGroups(guest));
    units.push(await guest.must(`systemctl show 'kubepods*.slice' --property=${UNIT_PROPERTIES.join(",")}`));
    await setPods(guest, []);
    await waitForGroups(guest, `the groups to go under ${agent}`, (now) => podGroups(now).length === 0);
  }
  await stopAgent(guest);
  figure(`${agent}: ${SHAPES.length} pods made, read and removed`, Math.round(performance.now() - startedMs), "ms");
  return { groups, units, untouched: await untouchedGroup(guest) };
}

/** Of a group that the kernel has just made, with every controller. */
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

/** The next agent must make all of it. */
const forgetKubepods = (guest: Guest) =>
  guest.must(`systemctl stop kubepods.slice 2>/dev/null || true
    if [ -d /sys/fs/cgroup/kubepods ]; then find /sys/fs/cgroup/kubepods -depth -type d -exec rmdir {} +; fi`);

const UNSET_CPUSET: Readonly<Record<string, string>> = {
  "cpuset.cpus": "",
  "cpuset.mems": "",
  "cpuset.cpus.partition": "member",
};

/**
 * An agent gives a new group every controller. systemd takes this one back from a slice that it has no CPUs for, each
 * time a property of the slice is set, unless containers run below: whether a tier without any has it depends on who
 * came last.
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

/** What all pods together may have, as what is missing from the whole guest. */
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

/** Without files that hold what the kernel puts there: a release of it may have others. */
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

for (const driver of SIZE.drivers) {
  void suite(`pods of every shape with the ${driver} driver on cgroup v2, under the Go kubelet and under ours`, () => {
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
      // Agents follow the runtime's driver, not this one.
      const config = configuration({ cgroupDriver: otherThan(driver), podPidsLimit: 1234 });
      for (const side of SIDES) {
        seen.set(side, await observe(guest, side, config));
        await forgetKubepods(guest);
      }
    });
    after(async () => {
      await guest.close();
      await rm(scratch, { recursive: true });
    });
    const by = (side: Side) => seen.get(side) ?? assert.fail(`${side} was not observed`);

    /** Against the recording, and against the other agent where both run. */
    async function check(what: string, answerOf: (side: Side) => unknown): Promise<void> {
      if (comparisonMode === "live") assert.deepEqual(answerOf("deckhand"), answerOf("go"), what);
      if (isRecorded) await recording.check(`${driver}: ${what}`, answerOf);
    }

    test("[14.2] [14.3] [14.4] every file of every group is the same, and where the runtime's driver wants it", async (t) => {
      assert.ok(SHAPES.length >= SIZE.least, String(SHAPES.length));
      const root = driver === "systemd" ? "/kubepods.slice" : "/kubepods";
      let files = 0;
      for (const [index, pods] of BATCHES.entries()) {
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

    test("[7.29] [14.6] [14.10] containers die whole and do not swap, in either agent's hands", () => {
      for (const { groups } of SIDES.map(by)) {
        const apps = groups.flatMap((now) => appGroups(now).map((group) => now.get(group)));
        assert.ok(apps.length >= RUNNING.size);
        for (const files of apps) assert.equal(files?.["memory.swap.max"], "0");
      }
    });

    if (driver === "systemd") {
      test("[14.3] [14.4] what systemd says of each slice is the same", async () => {
        for (const index of BATCHES.keys()) {
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

const otherThan = (driver: CgroupDriver): CgroupDriver => (driver === "systemd" ? "cgroupfs" : "systemd");
