/**
 * Pods of many shapes under the Go kubelet and under ours in the same guest, with cgroup v2 and each driver: every file of every group is the same, and with
 * systemd what the units say is the same too. Most pods wait for a volume that never comes: they have their group, and cost no container.
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
import { defaultPod } from "../../src/domain/pod/static-pod-defaults.ts";
import { sharesOf, weightOf } from "../../src/domain/resources/cpu-units.ts";
import { podRequests } from "../../src/domain/resources/pod-resources.ts";
import { qosTierValues } from "../../src/domain/resources/qos-tiers.ts";
import type { CgroupDriver } from "../../src/domain/runtime/runtime-info.ts";
import { figure } from "../figures.ts";
import { batches } from "../integration/cgroup-differential/observe.ts";
import { CASES } from "../integration/cgroup-differential/specs.ts";
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

const SIZE = wholeSize()
  ? { drawn: 70, known: CASES.length, least: 100, drivers: ["systemd", "cgroupfs"] as const }
  : { drawn: 6, known: 6, least: 16, drivers: ["systemd"] as const };
/** These run. */
const RUNNING = new Set(["guaranteed-fraction", "request-below-limit", "best-effort", "pod-level-limits"]);
/** What a guest has for pods; either agent refuses what asks for more. */
const ROOM = { milliCpu: 1500n, bytes: 2n * 2n ** 30n };

/** With what is only limited taken for requested, as either agent takes it. */
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

const SHAPES = [
  ...CASES.filter(({ name }) => RUNNING.has(name)),
  ...CASES.filter((one) => isPossible(one) && !RUNNING.has(one.name)).slice(0, SIZE.known),
  ...podsOfChance(2 * SIZE.drawn, seed())
    .map((spec, index) => ({ name: `drawn-${index}`, spec, expect: "cgroup" as const }))
    .filter(isPossible)
    .slice(0, SIZE.drawn),
];

const NEVER = { name: "never", hostPath: { path: "/nowhere/at/all", type: "Directory" } };

/** Half of them have a UID as the API server gives it, with dashes; the others as a kubelet makes one for a file (each makes its own, so the file says it). */
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

const BATCHES = batches(
  SHAPES.map((one) => ({ ...one, spec: withDefaults(one.spec) })),
  ROOM,
).map((batch) => batch.map(({ name }) => podNamed(name)));

function podNamed(name: string): Pod {
  const index = SHAPES.findIndex((one) => one.name === name);
  return podOf(SHAPES[index] ?? assert.fail(name), index);
}

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
}

/** As the tier of Burstable pods weighs once the agent has heard of all of them, and has taken for requested what is only limited. */
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
  return { groups, units };
}

/** So that the next agent makes all of it anew. */
const forgetKubepods = (guest: Guest) =>
  guest.must(`systemctl stop kubepods.slice 2>/dev/null || true
    if [ -d /sys/fs/cgroup/kubepods ]; then find /sys/fs/cgroup/kubepods -depth -type d -exec rmdir {} +; fi`);

const UNSET_CPUSET: Readonly<Record<string, string>> = {
  "cpuset.cpus": "",
  "cpuset.mems": "",
  "cpuset.cpus.partition": "member",
};

/**
 * An agent gives a new group every controller. systemd takes this one back from a slice that it has no CPUs for, each time a property of the slice is set, unless containers
 * run below: whether a tier without any has it depends on who came last.
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

const sorted = (units: string) => units.trim().split("\n\n").toSorted();

for (const driver of SIZE.drivers) {
  void suite(`pods of every shape with the ${driver} driver on cgroup v2, under the Go kubelet and under ours`, () => {
    let guest: Guest;
    let scratch: string;
    const seen = new Map<Agent, Seen>();

    before(async () => {
      scratch = await mkdtemp(join(tmpdir(), "deckhand-guest-"));
      guest = await resumeGuest();
      await guest.put(await deckhandPayloads());
      await useDriver(guest, driver);
      await guest.must("echo 128 > /proc/sys/vm/nr_hugepages");
      // The runtime's word counts, not this.
      const config = configuration({ cgroupDriver: otherThan(driver), podPidsLimit: 1234 });
      for (const agent of ["go", "deckhand"] as const) {
        seen.set(agent, await observe(guest, agent, config));
        await forgetKubepods(guest);
      }
    });
    after(async () => {
      await guest.close();
      await rm(scratch, { recursive: true });
    });
    const by = (agent: Agent) => seen.get(agent) ?? assert.fail(`${agent} was not observed`);

    test("[14.2] [14.3] [14.4] every file of every group is the same, and where the runtime's driver wants it", (t) => {
      assert.ok(SHAPES.length >= SIZE.least, String(SHAPES.length));
      let files = 0;
      for (const [index, pods] of BATCHES.entries()) {
        const [go, ours] = [by("go").groups[index], by("deckhand").groups[index]];
        assert.ok(go !== undefined && ours !== undefined);
        const root = driver === "systemd" ? "/kubepods.slice" : "/kubepods";
        assert.ok([...ours.keys()].every((group) => group === root || group.startsWith(`${root}/`)));
        assert.equal(podGroups(ours).length, pods.length);
        const compared = (groups: Groups) =>
          withoutContainerIds(driver === "systemd" ? withoutUnsetCpusets(groups) : groups);
        assert.deepEqual(compared(ours), compared(go), `batch ${index}`);
        for (const [, written] of ours) files += Object.keys(written).length;
      }
      t.diagnostic(`${SHAPES.length} pods, ${files} files compared`);
    });

    test("[14.6] [14.10] containers die whole and do not swap, in either agent's hands", () => {
      for (const { groups } of [by("go"), by("deckhand")]) {
        const apps = groups.flatMap((now) => appGroups(now).map((group) => now.get(group)));
        assert.ok(apps.length >= RUNNING.size);
        for (const files of apps) assert.equal(files?.["memory.swap.max"], "0");
      }
    });

    if (driver === "systemd") {
      test("[14.3] [14.4] what systemd says of each slice is the same", () => {
        for (const [index, units] of by("deckhand").units.entries()) {
          assert.deepEqual(sorted(units), sorted(by("go").units[index] ?? ""), `batch ${index}`);
          assert.match(units, /^Transient=yes$/m);
        }
      });
    }
  });
}

const otherThan = (driver: CgroupDriver): CgroupDriver => (driver === "systemd" ? "cgroupfs" : "systemd");
