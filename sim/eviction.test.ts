/** Eviction of pods under node pressure and for their limits of local storage: the real loops in virtual time. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Container, PodSpec } from "../src/api/gen/core-v1.ts";
import { parseCgroupPath } from "../src/domain/resources/cgroup-name.ts";
import { oneNode } from "../test/support/one-node.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import type { FaultPlan } from "./port-calls.ts";
import { install } from "./world-files.ts";

const MIB = 2n ** 20n;
const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 300, code: 0 } } };
const stubborn: Behaviour = {};

function begin({ plan, flags = [] }: { plan?: FaultPlan; flags?: readonly string[] } = {}) {
  const { create, ...one } = oneNode(plan, ...flags);
  const { node, find } = one;
  /** Bytes that the pod's containers use. */
  const fill = async (pod: string, bytes: bigint) => {
    const uid = find(pod)?.metadata?.uid ?? "";
    const groups = await node.cgroups.children(parseCgroupPath("/kubepods"));
    for (const group of ["/kubepods", ...groups.map((each) => `/kubepods/${each}`)]) {
      const below = parseCgroupPath(group);
      const own = (await node.cgroups.children(below)).find((each) => each.includes(uid));
      if (own !== undefined) node.cgroups.fill(parseCgroupPath(`${group}/${own}`), bytes);
    }
  };
  return {
    ...one,
    fill,
    run: (
      name: string,
      requests: Readonly<Record<string, string>>,
      spec: Partial<PodSpec> = {},
      behaviour = server,
      own: Partial<Container> = {},
    ) => create(name, { command: [...scripted(behaviour)], resources: { requests }, ...own }, spec),
    /** Leaves this much of the machine's memory. */
    leave: (bytes: bigint) => {
      node.machine.workingSetBytes = node.machine.machine.memoryBytes - bytes;
    },
  };
}

void suite("memory pressure", () => {
  test("[17.5] [17.6] [11.4] evicts the pod that uses most above its request, and only that pod", async () => {
    const w = begin({ flags: ["--eviction-hard=memory.available<100Mi"] });
    await w.world.advance(5_000);
    w.run("modest", { memory: "200Mi" });
    w.run("greedy", { memory: "10Mi" });
    await w.world.advance(10_000);
    await w.fill("modest", 100n * MIB);
    await w.fill("greedy", 300n * MIB);
    w.leave(50n * MIB);
    await w.world.advance(1_500);
    w.leave(2000n * MIB);
    await w.world.advance(10_000);
    const { phase, reason, message = "", conditions = [] } = w.find("greedy")?.status ?? {};
    assert.deepEqual([phase, reason], ["Failed", "Evicted"]);
    assert.match(message, /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: 50Mi\. /);
    const disrupted = conditions.find(({ type }) => type === "DisruptionTarget");
    assert.deepEqual(
      [disrupted?.status, disrupted?.reason, disrupted?.message],
      ["True", "TerminationByKubelet", message],
    );
    const [event] = (await w.eventsOf("greedy")).filter((each) => each.reason === "Evicted");
    assert.deepEqual([event?.type, event?.message], ["Warning", message]);
    assert.equal(w.find("modest")?.status?.phase, "Running");
    const pressure = w.ownNode()?.status?.conditions?.find(({ type }) => type === "MemoryPressure");
    assert.deepEqual([pressure?.status, pressure?.reason], ["True", "KubeletHasInsufficientMemory"]);
    assert.deepEqual(w.counted("kubelet_evictions"), { "eviction_signal=memory.available": 1 });
  });

  test("[17.5] evicts one pod per round and waits for its end; critical pods are never evicted", async () => {
    const w = begin({ flags: ["--eviction-hard=memory.available<100Mi"] });
    await w.world.advance(5_000);
    w.run("critical", {}, { priority: 2_000_000_000 });
    for (const name of ["a", "b", "c"]) w.run(name, {});
    await w.world.advance(10_000);
    await w.fill("critical", 900n * MIB);
    for (const [index, name] of ["a", "b", "c"].entries()) await w.fill(name, BigInt(300 - index * 100) * MIB);
    w.leave(50n * MIB);
    const phases = () => ["critical", "a", "b", "c"].map((name) => w.find(name)?.status?.phase);
    await w.world.advance(1_700);
    assert.deepEqual(phases().filter((phase) => phase === "Failed").length <= 1, true);
    await w.world.advance(60_000);
    assert.deepEqual(phases(), ["Running", "Failed", "Failed", "Failed"]);
  });

  test("[6.9] emits ExceededGracePeriod for an evicted pod that does not end, and then evicts another pod", async () => {
    const w = begin({
      flags: ["--eviction-hard=memory.available<100Mi"],
      plan: ({ port, name, target }) =>
        port === "runtime" && name === "StopContainer" && target !== "" ? { kind: "hang", effect: "none" } : undefined,
    });
    await w.world.advance(5_000);
    w.run("stuck", {}, {}, stubborn);
    w.run("other", {}, {}, stubborn);
    await w.world.advance(10_000);
    await w.fill("stuck", 300n * MIB);
    await w.fill("other", 200n * MIB);
    w.leave(50n * MIB);
    await w.world.advance(12_000);
    const late = (await w.eventsOf("stuck")).filter(({ reason }) => reason === "ExceededGracePeriod");
    assert.equal(late.length, 1);
    assert.equal((await w.eventsOf("other")).filter(({ reason }) => reason === "Evicted").length, 0);
    await w.world.advance(35_000);
    assert.equal((await w.eventsOf("other")).filter(({ reason }) => reason === "Evicted").length, 1);
  });

  test("[17.2] a pod that meets a limit of memory has memory measured at once, not with the next second", async () => {
    const evictedAfterMs = async (meetsLimit: boolean, offsetMs: number) => {
      const w = begin({ flags: ["--eviction-hard=memory.available<100Mi"] });
      await w.world.advance(5_000);
      w.run("greedy", {});
      w.leave(2000n * MIB);
      await w.world.advance(10_000 + offsetMs);
      await w.fill("greedy", 300n * MIB);
      w.leave(50n * MIB);
      const uid = w.find("greedy")?.metadata?.uid ?? "";
      if (meetsLimit) w.node.cgroups.meetLimit(["kubepods", "besteffort", `pod${uid}`]);
      const isEvicted = async () => (await w.eventsOf("greedy")).some(({ reason }) => reason === "Evicted");
      for (let ms = 0; ms < 3_000; ms += 50) {
        if (await isEvicted()) return ms;
        await w.world.advance(50);
      }
      return assert.fail("it was not evicted");
    };
    /** At four moments of the second between two measurements. */
    const longestMs = async (meetsLimit: boolean) => {
      let longest = 0;
      for (const offsetMs of [0, 250, 500, 750])
        longest = Math.max(longest, await evictedAfterMs(meetsLimit, offsetMs));
      return longest;
    };
    const [without, withEvent] = [await longestMs(false), await longestMs(true)];
    assert.ok(withEvent <= 200 && without >= 600, `${withEvent} ms with the event, ${without} ms without`);
  });

  test("[17.3] a soft threshold evicts only after its grace period", async () => {
    const w = begin({
      flags: [
        "--eviction-hard=memory.available<1Mi",
        "--eviction-soft=memory.available<100Mi",
        "--eviction-soft-grace-period=memory.available=30s",
        "--eviction-max-pod-grace-period=7",
      ],
    });
    await w.world.advance(5_000);
    w.run("greedy", {});
    await w.world.advance(10_000);
    await w.fill("greedy", 300n * MIB);
    w.leave(50n * MIB);
    await w.world.advance(29_000);
    assert.equal(w.find("greedy")?.status?.phase, "Running");
    await w.world.advance(4_000);
    assert.equal(w.find("greedy")?.status?.reason, "Evicted");
  });

  test("[17.5] an agent that was killed after an eviction waits for that pod before it evicts another", async () => {
    const w = begin({ flags: ["--eviction-hard=memory.available<100Mi"] });
    await w.world.advance(5_000);
    w.run("first", {}, {}, stubborn);
    w.run("second", {}, {}, stubborn);
    await w.world.advance(10_000);
    await w.fill("first", 300n * MIB);
    await w.fill("second", 200n * MIB);
    w.leave(50n * MIB);
    await w.world.advance(1_100);
    w.node.crash();
    w.start();
    await w.world.advance(500);
    assert.equal((await w.eventsOf("second")).filter(({ reason }) => reason === "Evicted").length, 0);
  });

  test("[17.5] a restarted agent waits for the pod that uses most when the runtime fails to report it at first", async () => {
    let failsUntilMs = 0;
    const w = begin({
      flags: ["--eviction-hard=memory.available<100Mi"],
      plan: ({ name, target }) => {
        const record = w.node.runtime.containers.get(target);
        const isOfGreedy = record !== undefined && record.name.includes("greedy");
        const fails = name === "ContainerStatus" && isOfGreedy && w.world.clock.monotonicMs() < failsUntilMs;
        return fails ? { kind: "fail", effect: "none" } : undefined;
      },
    });
    await w.world.advance(5_000);
    for (const name of ["modest", "greedy"]) w.run(name, { memory: "10Mi" });
    await w.world.advance(10_000);
    await w.fill("modest", 20n * MIB);
    await w.fill("greedy", 300n * MIB);
    w.node.crash();
    w.leave(50n * MIB);
    failsUntilMs = w.world.clock.monotonicMs() + 4_000;
    w.start();
    await w.world.advance(8_000);
    w.leave(2_000n * MIB);
    await w.world.advance(20_000);
    assert.deepEqual([w.find("modest")?.status?.phase, w.find("greedy")?.status?.reason], ["Running", "Evicted"]);
  });

  test("[17.2] evicts within 1.5 s of crossing the threshold while a pod allocates 500 MB/s", async () => {
    const w = begin({ flags: ["--eviction-hard=memory.available<1Gi"] });
    await w.world.advance(5_000);
    w.run("ramp", {});
    await w.world.advance(10_000);
    const steps = 400;
    let crossedMs: number | undefined;
    let evictedMs: number | undefined;
    for (let step = 0; step < steps && evictedMs === undefined; step += 1) {
      const available = 3072n * MIB - BigInt(step * 25) * 1_000_000n;
      w.leave(available > 0n ? available : 0n);
      await w.fill("ramp", BigInt(step * 25) * 1_000_000n);
      if (available < 1024n * MIB) crossedMs ??= w.world.clock.monotonicMs();
      await w.world.advance(50);
      const events = await w.eventsOf("ramp");
      if (events.some(({ reason }) => reason === "Evicted")) evictedMs = w.world.clock.monotonicMs();
    }
    assert.ok(crossedMs !== undefined && evictedMs !== undefined, "it was evicted");
    assert.ok(evictedMs - crossedMs <= 1_500, `${evictedMs - crossedMs} ms`);
  });
});

void suite("limits of local storage", () => {
  const scratch = (sizeLimit: string) => ({
    volumes: [{ name: "scratch", emptyDir: { sizeLimit } }],
  });
  const mounted = { volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] };

  test("[17.7] evicts every pod whose emptyDir exceeds its sizeLimit, without the condition DisruptionTarget", async () => {
    const w = begin();
    await w.world.advance(5_000);
    for (const [name, limit] of [
      ["one", "1Mi"],
      ["two", "1Mi"],
      ["small", "8Mi"],
    ] as const) {
      w.run(name, {}, { ...scratch(limit) }, server, mounted);
    }
    await w.world.advance(10_000);
    for (const name of ["one", "two", "small"]) {
      const uid = w.find(name)?.metadata?.uid ?? "";
      const path = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/scratch/data`;
      install(w.node.files, path, "x".repeat(2 * 1024 * 1024));
    }
    await w.world.advance(75_000);
    const statuses = ["one", "two", "small"].map((name) => w.find(name)?.status);
    assert.deepEqual(
      statuses.map((status) => [status?.phase, status?.reason, status?.message]),
      [
        ["Failed", "Evicted", 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". '],
        ["Failed", "Evicted", 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". '],
        ["Running", undefined, undefined],
      ],
    );
    const types = statuses.flatMap((status) => (status?.conditions ?? []).map(({ type }) => type));
    assert.ok(!types.includes("DisruptionTarget"));
    assert.deepEqual(w.counted("kubelet_evictions"), { "eviction_signal=emptydirfs.limit": 2 });
  });

  test("[21.9] [17.7] with project quotas, evicts a pod for an open file without a name", async () => {
    const w = begin({ flags: ["--feature-gates=LocalStorageCapacityIsolationFSQuotaMonitoring=true"] });
    w.node.quotas.counted.add("/var/lib/kubelet");
    await w.world.advance(5_000);
    for (const name of ["above", "below"]) w.run(name, {}, { ...scratch("8Mi"), hostUsers: false }, server, mounted);
    w.run("walked", {}, scratch("8Mi"), server, mounted);
    await w.world.advance(10_000);
    for (const [name, mebibytes] of [
      ["above", 9],
      ["below", 7],
      ["walked", 9],
    ] as const) {
      const uid = w.find(name)?.metadata?.uid ?? "";
      const path = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/scratch`;
      w.node.quotas.hide(path, mebibytes * 1024 * 1024);
    }
    await w.world.advance(75_000);
    const reasons = ["above", "below", "walked"].map((name) => w.find(name)?.status?.reason);
    assert.deepEqual(reasons, ["Evicted", undefined, undefined]);
    assert.equal(w.node.quotas.projects.size, 1);
  });

  test("[17.7] a pod with an amount that nothing can represent does not end the check of the others", async () => {
    const w = begin();
    await w.world.advance(5_000);
    w.run("hostile", {}, scratch("1e5001"), server, mounted);
    w.run("above", {}, scratch("1Mi"), server, mounted);
    await w.world.advance(10_000);
    for (const name of ["hostile", "above"]) {
      const uid = w.find(name)?.metadata?.uid ?? "";
      const path = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/scratch/data`;
      install(w.node.files, path, "x".repeat(2 * 1024 * 1024));
    }
    await w.world.advance(75_000);
    assert.deepEqual([w.find("hostile")?.status?.phase, w.find("above")?.status?.reason], ["Running", "Evicted"]);
  });

  test("[17.7] reads no stats of pods that have no limit", async () => {
    const w = begin();
    await w.world.advance(5_000);
    w.run("plain", {});
    await w.world.advance(120_000);
    assert.equal(w.node.stats.reads, 0);
  });
});
