import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeCgroups } from "../../../sim/fake-cgroups.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import { LoopHeartbeats } from "../../concurrency/loop-heartbeats.ts";
import type { CgroupName, CgroupValues } from "../../domain/resources/cgroup-values.ts";
import type { QosCgroupState } from "../../domain/resources/qos-cgroup-state.ts";
import { parseResourceList } from "../../domain/resources/resource-list.ts";
import type { CgroupDriver } from "../../domain/runtime/runtime-info.ts";
import type { MachineFacts } from "../../ports/machine.ts";
import type { NodeGroupSettings } from "./node-groups.ts";
import { type NodeCgroups, ResourcesController } from "./resources.ts";

const facts: MachineFacts = {
  cpus: 2,
  onlineCpus: "0-1",
  physicalCores: 1,
  sockets: 1,
  memoryBytes: 4n * 2n ** 30n,
  swapBytes: 0n,
  hugepages: new Map([[2_097_152n, 0n]]),
  machineId: "",
  systemUuid: "",
  bootId: "",
  kernelVersion: "",
  osImage: "",
  hostname: "",
  pidsMax: 32_768,
  selinux: false,
  apparmor: false,
};

const plain: NodeGroupSettings = {
  nodeName: "n1",
  cgroupRoot: ["x"],
  reservations: { systemReserved: parseResourceList({ memory: "1Gi" }), kubeReserved: new Map() },
  enforce: new Set(["pods"]),
  systemReservedCgroup: "",
  kubeReservedCgroup: "",
};

/** Records applied cgroups and rejects what the test says. */
class Watched extends FakeCgroups {
  readonly applied: string[] = [];
  refusal: Error | undefined;
  away: Error | undefined;

  override apply(name: CgroupName, values: CgroupValues): Promise<void> {
    this.applied.push(name.join("/"));
    if (this.away !== undefined) return Promise.reject(this.away);
    if (this.refusal !== undefined && values.memoryLimitBytes !== undefined) return Promise.reject(this.refusal);
    return super.apply(name, values);
  }
}

function world(
  settings: NodeGroupSettings = plain,
  read = () => Promise.resolve(facts),
  driver: CgroupDriver = "cgroupfs",
  misconfigurationIsFatal = false,
) {
  const clock = new ManualClock();
  const pods = new Watched({ root: ["x"], driver });
  const machine = new Watched({ driver });
  const cgroups = new LatestCell<NodeCgroups | undefined>(undefined);
  const admittedPods = new LatestTable<string, { readonly pod: Pod; readonly verdict: { readonly kind: string } }>();
  const qosCgroups = new LatestCell<QosCgroupState>({ kind: "pending" });
  const reported: string[] = [];
  const errors: string[] = [];
  const controller = new ResourcesController({
    cgroups,
    admittedPods,
    qosCgroups,
    machine: { facts: read },
    events: {
      emit: ({ kind, name }, type, reason, message) => reported.push(`${kind}/${name} ${type} ${reason} ${message}`),
    },
    clock,
    log: { info: () => {}, error: (message) => errors.push(message) },
    settings,
    heartbeat: new LoopHeartbeats(clock).expect("any", 0),
    misconfigurationIsFatal,
  });
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  const admit = (uid: string, cpu: string, kind = "admitted") =>
    admittedPods.set(uid, {
      pod: { spec: { containers: [{ name: "a", resources: { requests: { cpu } } }] } },
      verdict: { kind },
    });
  return {
    clock,
    running,
    pods,
    machine,
    admittedPods,
    qosCgroups,
    reported,
    errors,
    admit,
    ready: async () => {
      cgroups.set({ pods, machine });
      await clock.advance(0);
    },
    end: async () => {
      stop.abort(new Error("over"));
      await running;
      assert.equal(clock.timersPending, 0);
    },
  };
}

void test("[14.8] nothing is done until cgroups are available, then kubepods is set up and reported once", async () => {
  const { clock, pods, reported, qosCgroups, ready, end } = world();
  await clock.advance(300_000);
  assert.deepEqual([pods.applied, qosCgroups.value.kind], [[], "pending"]);
  await ready();
  assert.deepEqual(pods.valuesOf(["kubepods"]), {
    cpuShares: 2048,
    memoryLimitBytes: 3_221_225_472n,
    pidsMax: 32_768n,
    cpusetCpus: "0-1",
    hugepageLimitBytes: new Map([["2MB", 2n ** 62n]]),
  });
  assert.equal(qosCgroups.value.kind, "ready");
  await clock.advance(300_000);
  assert.deepEqual(reported, ["Node/n1 Normal NodeAllocatableEnforced Updated Node Allocatable limit across pods"]);
  await end();
});

void test("[14.8] a refused limit is reported each minute until it is applied; the QoS cgroups do not wait for it", async () => {
  const { clock, pods, reported, qosCgroups, ready, end } = world();
  pods.refusal = new Error("cgroup /x/kubepods: too low");
  await ready();
  assert.equal(qosCgroups.value.kind, "ready");
  assert.equal(pods.valuesOf(["kubepods", "besteffort"]).cpuShares, 2);
  await clock.advance(60_000);
  pods.refusal = undefined;
  await clock.advance(59_999);
  const failed =
    'Node/n1 Warning FailedNodeAllocatableEnforcement Failed to update Node Allocatable Limits ["x" "kubepods"]: cgroup /x/kubepods: too low';
  assert.deepEqual(reported, [failed, failed]);
  await clock.advance(1);
  assert.deepEqual(reported.slice(2), [
    "Node/n1 Normal NodeAllocatableEnforced Updated Node Allocatable limit across pods",
  ]);
  await end();
});

void test("[14.9] the burstable cgroup follows the admitted pods at once, and no other cgroup is written", async () => {
  const { clock, pods, admittedPods, admit, ready, end } = world();
  admit("before", "250m");
  await ready();
  assert.equal(pods.valuesOf(["kubepods", "burstable"]).cpuShares, 256);
  pods.applied.length = 0;
  admit("more", "1");
  admit("refused", "8", "rejected");
  await clock.advance(0);
  assert.equal(pods.valuesOf(["kubepods", "burstable"]).cpuShares, 1280);
  admittedPods.delete("before");
  await clock.advance(0);
  assert.equal(pods.valuesOf(["kubepods", "burstable"]).cpuShares, 1024);
  assert.deepEqual(new Set(pods.applied), new Set(["kubepods/burstable"]));
  pods.applied.length = 0;
  admit("more", "1");
  await clock.advance(0);
  assert.deepEqual(pods.applied, []);
  await end();
});

void test("[14.9] values that another process changes are restored within a minute", async () => {
  const { clock, pods, ready, end } = world();
  await ready();
  await pods.apply(["kubepods", "besteffort"], { cpuShares: 9999 });
  await pods.apply(["kubepods"], { memoryLimitBytes: 1n });
  await clock.advance(60_000);
  assert.equal(pods.valuesOf(["kubepods", "besteffort"]).cpuShares, 2);
  assert.equal(pods.valuesOf(["kubepods"]).memoryLimitBytes, 3_221_225_472n);
  await end();
});

void test("[14.8] cgroups for reserved resources are limited if they exist and are never created", async () => {
  const { clock, machine, reported, ready, end } = world({
    ...plain,
    enforce: new Set(["pods", "system-reserved", "kube-reserved-compressible"]),
    systemReservedCgroup: "/system",
    kubeReservedCgroup: "/kube",
    reservations: {
      systemReserved: parseResourceList({ cpu: "500m", memory: "1Gi" }),
      kubeReserved: parseResourceList({ cpu: "250m", memory: "1Gi" }),
    },
  });
  await machine.apply(["system"], {});
  await ready();
  const beside = { cpusetCpus: "0-1", hugepageLimitBytes: new Map([["2MB", 0n]]) };
  assert.deepEqual(machine.valuesOf(["system"]), { cpuShares: 512, memoryLimitBytes: 1_073_741_824n, ...beside });
  assert.equal(await machine.exists(["kube"]), false);
  assert.deepEqual(reported.slice(1), [
    "Node/n1 Normal NodeAllocatableEnforced Updated limits on system reserved cgroup /system",
    'Node/n1 Warning FailedNodeAllocatableEnforcement Failed to enforce Kube Reserved Compressible Cgroup Limits on "/kube": could not read controllers for cgroup ["kube"]: open /sys/fs/cgroup/kube/cgroup.controllers: no such file or directory',
  ]);
  await machine.apply(["kube"], {});
  await clock.advance(60_000);
  assert.deepEqual(machine.valuesOf(["kube"]), { cpuShares: 256, ...beside });
  assert.deepEqual(reported.slice(3), [
    "Node/n1 Normal NodeAllocatableEnforced Updated limits on kube reserved cgroup /kube",
  ]);
  await end();
});

void test("[14.8] with systemd a reserved cgroup is named by its slice", async () => {
  const settings = { ...plain, enforce: new Set(["system-reserved"] as const), systemReservedCgroup: "/system.slice" };
  const { machine, reported, ready, end } = world(settings, () => Promise.resolve(facts), "systemd");
  await machine.apply(["system"], {});
  await ready();
  assert.equal(machine.valuesOf(["system"]).memoryLimitBytes, 1_073_741_824n);
  assert.deepEqual(reported.slice(1), [
    "Node/n1 Normal NodeAllocatableEnforced Updated limits on system reserved cgroup /system.slice",
  ]);
  await end();
});

void test("[14.8] a reserved cgroup without a reservation is reported and stays unchanged", async () => {
  const settings = { ...plain, enforce: new Set(["kube-reserved"] as const), kubeReservedCgroup: "/kube" };
  const { machine, reported, ready, end } = world(settings);
  await machine.apply(["kube"], {});
  await ready();
  assert.deepEqual(machine.valuesOf(["kube"]), {});
  assert.deepEqual(reported.slice(1), [
    'Node/n1 Warning FailedNodeAllocatableEnforcement Failed to enforce Kube Reserved Cgroup Limits on "/kube": ["kube"] cgroup is not configured properly',
  ]);
  await end();
});

void test("[14.8] with misconfigurationIsFatal a missing cgroup for reserved resources ends the agent at its start", async () => {
  const settings = {
    ...plain,
    enforce: new Set(["pods", "system-reserved"] as const),
    systemReservedCgroup: "/system",
  };
  const { running, reported, qosCgroups, ready } = world(settings, undefined, undefined, true);
  const ended = assert.rejects(running, {
    message:
      'Failed to start ContainerManager: Failed to enforce System Reserved Cgroup Limits on "/system": could not read controllers for cgroup ["system"]: open /sys/fs/cgroup/system/cgroup.controllers: no such file or directory',
  });
  await ready();
  await ended;
  assert.equal(reported.at(-1)?.startsWith("Node/n1 Warning FailedNodeAllocatableEnforcement "), true);
  assert.deepEqual(qosCgroups.value, { kind: "pending" }, "no pod may start before");
});

void test("[14.8] with misconfigurationIsFatal a refused limit of all pods and a later failure do not end the agent", async () => {
  const { clock, pods, errors, ready, end } = world(undefined, undefined, undefined, true);
  pods.refusal = new Error("below the usage");
  await ready();
  pods.away = new Error("gone");
  await clock.advance(60_000);
  assert.deepEqual(errors, [
    'Failed to update Node Allocatable Limits ["x" "kubepods"]',
    'Failed to update Node Allocatable Limits ["x" "kubepods"]',
    "Failed to update QoS cgroup configuration",
  ]);
  await end();
});

void test("[14.9] with misconfigurationIsFatal QoS cgroups that cannot be created end the agent at its start", async () => {
  const { running, pods, ready } = world(undefined, undefined, undefined, true);
  pods.away = new Error("cgroup /x/kubepods: no bus");
  const ended = assert.rejects(running, {
    message:
      "Failed to start ContainerManager: failed to initialize top level QOS containers: cgroup /x/kubepods: no bus",
  });
  await ready();
  await ended;
});

void test("[14.9] QoS cgroups that cannot be created are retried with doubling waits, and every minute after the first success", async () => {
  const { clock, pods, qosCgroups, ready, end } = world();
  pods.away = new Error("cgroup /x/kubepods: no bus");
  await ready();
  assert.deepEqual(qosCgroups.value, { kind: "failing", trouble: "cgroup /x/kubepods: no bus" });
  for (const pauseMs of [1000, 2000, 4000, 8000]) {
    pods.applied.length = 0;
    await clock.advance(pauseMs - 1);
    assert.deepEqual(pods.applied, []);
    await clock.advance(1);
    assert.ok(pods.applied.length > 0, `${pauseMs} ms after the last`);
  }
  pods.away = undefined;
  await clock.advance(16_000);
  assert.deepEqual(qosCgroups.value, { kind: "ready" });
  pods.away = new Error("gone again");
  pods.applied.length = 0;
  await clock.advance(59_999);
  assert.deepEqual(pods.applied, []);
  await clock.advance(1);
  assert.ok(pods.applied.length > 0);
  assert.deepEqual(qosCgroups.value, { kind: "ready" });
  await end();
});

void test("[14.9] QoS cgroups that a change of the pods sets are ready at once, and are reported ready once", async () => {
  const { clock, pods, qosCgroups, admit, ready, end } = world();
  pods.away = new Error("no bus");
  await ready();
  pods.away = undefined;
  admit("u", "1");
  await clock.advance(0);
  assert.deepEqual(qosCgroups.value, { kind: "ready" });
  const { version } = qosCgroups;
  await clock.advance(120_000);
  assert.equal(qosCgroups.version, version);
  await end();
});

void test("failures caused by the shutdown are not reported", async () => {
  const { pods, errors, reported, ready, end } = world();
  const waiting = Promise.withResolvers<void>();
  pods.apply = () => waiting.promise;
  await ready();
  const ending = end();
  waiting.reject(new Error("ended by SIGTERM"));
  await ending;
  assert.deepEqual([errors, reported], [[], []]);
});

void test("[14.11] with memory QoS the protected memory of kubepods and burstable follows the admitted pods", async () => {
  const memoryQos = { tiered: true, throttlingFactor: 0.9, allocatableBytes: 0n };
  const { clock, pods, admittedPods, ready, end } = world({ ...plain, memoryQos });
  await ready();
  assert.deepEqual(pods.valuesOf(["kubepods"]).unified, new Map([["memory.min", "0"]]));
  const container = { name: "a", resources: { requests: { memory: "64Mi" } } };
  admittedPods.set("m", { pod: { spec: { containers: [container] } }, verdict: { kind: "admitted" } });
  await clock.advance(0);
  assert.deepEqual(pods.valuesOf(["kubepods"]).unified, new Map([["memory.min", "67108864"]]));
  assert.deepEqual(pods.valuesOf(["kubepods", "burstable"]).unified, new Map([["memory.low", "67108864"]]));
  await end();
});

void test("an unreadable machine leaves the node's limits unchanged, and the QoS cgroups are still set up", async () => {
  const { pods, errors, reported, ready, end } = world(plain, () => Promise.reject(new Error("no /proc")));
  await ready();
  assert.deepEqual(errors, ["Failed to read the machine's capacity; the cgroup limits stay unchanged"]);
  assert.deepEqual([reported, pods.valuesOf(["kubepods", "burstable"]).cpuShares], [[], 2]);
  await end();
});

void test("[14.15] memory of higher QoS classes is reserved as soon as a pod is admitted; a class in need keeps what it uses", async () => {
  const { clock, pods, admittedPods, errors, ready, end } = world({ ...plain, qosReservedMemory: 50n });
  const limits = () =>
    ["burstable", "besteffort"].map((tier) => pods.valuesOf(["kubepods", tier]).memoryLimitBytes ?? 0n);
  const use = (name: CgroupName, bytes: bigint) => pods.fill(name, bytes);
  const requests = { cpu: "1", memory: "1Gi" };
  const containers = [{ name: "a", resources: { requests, limits: requests } }];
  await ready();
  assert.deepEqual(limits(), [3n * 2n ** 30n, 3n * 2n ** 30n], "4 GiB without the reservation of 1 GiB");
  admittedPods.set("a", { pod: { spec: { containers } }, verdict: { kind: "admitted" } });
  await clock.advance(0);
  assert.deepEqual(limits(), [5n * 2n ** 29n, 5n * 2n ** 29n]);
  use(["kubepods", "besteffort"], 11n * 2n ** 28n);
  admittedPods.set("b", {
    pod: { spec: { containers: [{ name: "b", resources: { requests } }] } },
    verdict: { kind: "admitted" },
  });
  await clock.advance(0);
  assert.deepEqual(limits(), [5n * 2n ** 29n, 11n * 2n ** 28n]);
  use(["kubepods", "besteffort"], 0n);
  pods.refusal = new Error("busy");
  await clock.advance(60_000);
  assert.deepEqual(errors.slice(1), ["Failed to reserve QoS requests", "Failed to reserve QoS requests"]);
  pods.refusal = undefined;
  await clock.advance(60_000);
  assert.deepEqual(limits(), [5n * 2n ** 29n, 2n ** 31n]);
  await end();
});
