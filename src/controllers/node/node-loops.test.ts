/** Runs registration, status, lease and pod CIDRs in virtual time, each alone and all together. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { NodeApi, refused } from "../../../test/support/node-api.ts";
import { machineFacts, nodeOptions, nodeSnapshot, runtimeAnswered } from "../../../test/support/node-world.ts";
import type { Node } from "../../api/gen/core-v1.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LoopHeartbeats } from "../../concurrency/loop-heartbeats.ts";
import { isReady, type Pressure } from "../../domain/node/conditions.ts";
import {
  NO_NOT_READY_REASONS,
  type NodeOptions,
  type NotReadyReasons,
  updatedNode,
} from "../../domain/node/node-status.ts";
import {
  NO_REPORT,
  type NodeReport,
  type NodeSync,
  type OwnNode,
  type Registration,
} from "../../domain/node/own-node.ts";
import { NO_PRESSURE } from "../../domain/node/pressure.ts";
import { RUNTIME_UNKNOWN, type RuntimeHealth } from "../../domain/node/runtime-health.ts";
import type { QosCgroupState } from "../../domain/resources/qos-cgroup-state.ts";
import type { Image } from "../../domain/runtime/image.ts";
import { ApiUnreachableError } from "../../ports/api-error.ts";
import { runOwnNode } from "../cluster-objects/own-node.ts";
import { runLease } from "./lease.ts";
import { runNodeStatus } from "./node-status.ts";
import { runPodCidr, setPodCidr } from "./pod-cidr.ts";
import { runRegistration } from "./register.ts";
import { SnapshotReader } from "./snapshot.ts";

const away = () => new ApiUnreachableError("TEST", "connect ECONNREFUSED", false);

function world(change: Partial<NodeOptions> = {}, registerNode = true) {
  const clock = new ManualClock();
  const api = new NodeApi();
  const stop = new AbortController();
  const reported: string[] = [];
  const repeated: number[] = [];
  const cells = {
    runtimeHealth: new LatestCell<RuntimeHealth>(RUNTIME_UNKNOWN),
    pressure: new LatestCell<Pressure>(NO_PRESSURE),
    ownNode: new LatestCell<OwnNode>({ kind: "unknown" }),
    nodeImages: new LatestCell<readonly Image[] | undefined>(undefined),
    volumesInUse: new LatestCell<readonly string[] | undefined>(undefined),
    nodeNotReadyReasons: new LatestCell<NotReadyReasons>(NO_NOT_READY_REASONS),
    qosCgroups: new LatestCell<QosCgroupState>({ kind: "ready" }),
    nodeRegistered: new LatestCell<Registration>({ kind: "pending" }),
    nodeSynced: new LatestCell<NodeSync>({ kind: "never" }),
    nodeReport: new LatestCell<NodeReport>(NO_REPORT),
  };
  const options = nodeOptions(change);
  const facts = { ...machineFacts };
  const handed: string[] = [];
  const runtime = {
    refusals: 0,
    setPodCidr: async (cidr: string) => {
      handed.push(cidr);
      if (runtime.refusals > 0) {
        runtime.refusals -= 1;
        throw new Error("not yet");
      }
    },
  };
  const parts = {
    ...cells,
    api,
    clock,
    runtime,
    options,
    registerNode,
    rootDirectory: "/var/lib/kubelet",
    random: { fraction: () => 0.5, uuid: () => "" },
    log: { info: () => {}, error: () => {} },
    events: { emit: (_s: unknown, type: string, reason: string) => void reported.push(`${type} ${reason}`) },
    cgroups: { version: 2 as const },
    machine: {
      facts: async () => facts,
      filesystem: async () => ({
        device: "d",
        capacityBytes: 10n ** 11n,
        availableBytes: 10n ** 11n,
        inodes: 1n,
        inodesFree: 1n,
      }),
      addresses: async () => [{ interfaceName: "eth0", address: "192.0.2.1", family: "IPv4" as const }],
      defaultRouteAddress: async () => "192.0.2.1",
      lookup: async () => [],
    },
    registration: {
      labels: {},
      taints: [],
      providerId: "",
      controllerAttach: true,
      resetExtendedResources: false,
    },
    cadence: { updateEveryMs: 10_000, reportEveryMs: 300_000 },
    heartbeat: new LoopHeartbeats(clock).expect("any", 0),
    onRepeatedFailure: () => void repeated.push(clock.monotonicMs()),
  };
  const snapshots = new SnapshotReader(parts);
  const loops = {
    ownNode: () => runOwnNode({ ...parts, nodeName: "n1" }, stop.signal),
    register: () => runRegistration({ ...parts, snapshots }, stop.signal),
    status: () => runNodeStatus({ ...parts, snapshots }, stop.signal),
    lease: () => runLease({ ...parts, options: { nodeName: "n1", leaseDurationSeconds: 40 } }, stop.signal),
    podCidr: () => runPodCidr(parts, stop.signal),
  };
  const all = () => Promise.all([loops.ownNode(), loops.register(), loops.status(), loops.lease(), loops.podCidr()]);
  const answer = () => cells.runtimeHealth.set(runtimeAnswered());
  /** Advances time while the runtime keeps responding. */
  const live = async (ms: number) => {
    for (let left = ms; left > 0; left -= 5000) {
      answer();
      await clock.advance(Math.min(left, 5000));
    }
  };
  const end = async (running: Promise<unknown>) => {
    stop.abort(new Error("shutting down"));
    await running;
    assert.equal(clock.timersPending, 0, "a timer is left");
  };
  const since = (count: number) => api.requests.slice(count);
  return { ...parts, cells, repeated, loops, all, reported, handed, facts, live, answer, end, stop, since };
}

const ready = (node: Node | undefined) => isReady(node?.status?.conditions);

test("[3.1] [3.13] a node whose runtime has answered is created Ready in one request and then left alone", async () => {
  const w = world();
  w.answer();
  const running = w.all();
  await w.live(100);
  assert.equal(ready(w.api.node), true);
  assert.deepEqual(w.api.requests, ["watch nodes", "get leases", "create nodes", "create leases"]);
  assert.equal(w.cells.nodeRegistered.value.kind, "registered");
  assert.equal(w.cells.nodeSynced.value.kind === "synced" && w.cells.nodeSynced.value.ready, true);
  await w.end(running);
});

test("[3.13] an idle node costs six Lease updates a minute and a status patch every five minutes", async () => {
  const w = world();
  w.answer();
  const running = w.all();
  await w.live(1000);
  const from = w.api.requests.length;
  await w.live(620_000);
  const requests = w.since(from);
  const patches = requests.filter((request) => request === "patch nodes").length;
  const leases = requests.filter((request) => request === "update leases").length;
  assert.deepEqual([patches, leases, requests.length], [2, 60, 62]);
  // The patches contain only heartbeats.
  for (const patch of w.api.patches) {
    const { conditions, ...rest } = patch["status"] as { readonly conditions: readonly object[] };
    assert.deepEqual(rest, {});
    for (const condition of conditions) assert.deepEqual(Object.keys(condition), ["type", "lastHeartbeatTime"]);
  }
  await w.end(running);
});

test("[3.13] a runtime that answers late is published within 100 ms during the first two minutes after startup", async () => {
  for (const [lateMs, limitMs] of [
    [50_000, 100],
    [119_000, 100],
    [130_000, 10_400],
  ] as const) {
    const w = world();
    const running = w.all();
    await w.clock.advance(lateMs);
    assert.equal(ready(w.api.node), false);
    w.answer();
    await w.clock.advance(limitMs);
    assert.equal(ready(w.api.node), true, `after ${lateMs} ms`);
    await w.end(running);
  }
});

test("[3.12] a node whose runtime has not answered is created after one second and says why it is not ready", async () => {
  const w = world();
  const running = w.all();
  await w.clock.advance(999);
  assert.deepEqual(w.api.requests, ["watch nodes", "get leases"]);
  await w.clock.advance(1);
  assert.equal(
    w.api.node?.status?.conditions?.at(-1)?.message,
    "[container runtime status check may not have completed yet, network state unknown]",
  );
  await w.end(running);
});

test("[3.1] registration retries are spaced from 100 ms to 7 s", async () => {
  const w = world();
  w.answer();
  w.api.failures.set("create nodes", Array.from({ length: 9 }, away));
  const at: number[] = [];
  const create = w.api.create.bind(w.api);
  w.api.create = (resource, object) => {
    at.push(w.clock.monotonicMs());
    return create(resource, object);
  };
  const running = w.loops.register();
  await w.clock.advance(60_000);
  const registered = w.cells.nodeRegistered.value;
  assert.equal(registered.kind, "registered");
  const pauses = at.map((ms, index) => ms - (at[index - 1] ?? 0)).slice(1);
  assert.deepEqual(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 7000, 7000]);
  await w.end(running);
});

for (const [name, failure] of [
  ["already exists", undefined],
  ["may not be created", refused(403, "Forbidden")],
] as const) {
  test(`[3.1] [27.4.1] a Node that ${name} is read and patched, and keeps its UID`, async () => {
    const w = world();
    w.answer();
    w.api.put("nodes", { metadata: { name: "n1", uid: "first", labels: { kept: "yes" } } });
    if (failure !== undefined) w.api.failures.set("create nodes", [failure]);
    const running = w.loops.register();
    await w.clock.advance(0);
    assert.deepEqual(w.api.requests, ["create nodes", "get nodes", "patch nodes"]);
    const { metadata } = w.api.node ?? {};
    assert.equal(metadata?.uid, "first");
    assert.deepEqual([metadata.labels?.["kept"], metadata.labels?.["kubernetes.io/os"]], ["yes", "linux"]);
    await w.end(running);
  });
}

test("[3.1] registration is retried when the create is forbidden and the Node does not exist", async () => {
  const w = world();
  w.answer();
  w.api.failures.set("create nodes", [refused(403, "Forbidden")]);
  const running = w.loops.register();
  await w.clock.advance(100);
  assert.deepEqual(w.api.requests, ["create nodes", "get nodes", "create nodes"]);
  await w.end(running);
});

test("[3.1] with registerNode false nothing is created, and the status is written once the Node exists", async () => {
  const w = world({}, false);
  w.answer();
  const running = w.all();
  await w.live(30_000);
  assert.deepEqual(w.api.requests, ["watch nodes", "get leases"]);
  w.api.put("nodes", { metadata: { name: "n1", uid: "theirs" } });
  await w.live(100);
  assert.equal(ready(w.api.node), true);
  assert.equal(w.api.lease?.metadata?.ownerReferences?.[0]?.uid, "theirs");
  await w.end(running);
});

/** The Node as a previous kubelet process leaves it after a clean shutdown. */
async function nodeLeftReady(): Promise<Node> {
  const w = world();
  w.answer();
  const running = w.all();
  await w.live(100);
  await w.end(running);
  return w.api.node ?? assert.fail();
}

test("[3.13] a restarted agent patches the status once although nothing changed", async () => {
  const w = world();
  w.api.put("nodes", await nodeLeftReady());
  await w.live(60_000);
  const running = w.all();
  await w.live(100);
  assert.equal(w.api.requests.filter((request) => request === "patch nodes").length, 1);
  await w.end(running);
});

test("[3.12] a Node left Ready stays Ready for 30 s after a restart while the runtime has not answered", async () => {
  const left = await nodeLeftReady();
  for (const answersAfterMs of [20_000, undefined]) {
    const w = world();
    w.api.put("nodes", left);
    const running = w.all();
    await w.clock.advance(answersAfterMs ?? 29_000);
    assert.equal(ready(w.api.node), true);
    if (answersAfterMs !== undefined) await w.live(20_000);
    else await w.clock.advance(2000);
    assert.equal(ready(w.api.node), answersAfterMs !== undefined);
    assert.deepEqual(
      w.reported.filter((event) => event.includes("Ready")),
      answersAfterMs === undefined ? ["Normal NodeNotReady"] : [],
    );
    await w.end(running);
  }
});

test("[3.12] [13.26] a Node left Ready stays Ready for 30 s without its CSINode, then is NotReady until it exists", async () => {
  const w = world();
  w.api.put("nodes", await nodeLeftReady());
  w.cells.nodeNotReadyReasons.set({ ...NO_NOT_READY_REASONS, storage: "CSINode is not yet initialized" });
  w.answer();
  const running = w.all();
  await w.live(29_000);
  assert.equal(ready(w.api.node), true);
  await w.live(3_000);
  assert.equal(ready(w.api.node), false);
  w.cells.nodeNotReadyReasons.set(NO_NOT_READY_REASONS);
  await w.live(11_000);
  assert.equal(ready(w.api.node), true);
  await w.end(running);
});

test("[3.12] a Node left Ready stays Ready for 30 s while its cgroups cannot be set up, then is NotReady until they can", async () => {
  const w = world();
  w.api.put("nodes", await nodeLeftReady());
  w.cells.qosCgroups.set({ kind: "failing", trouble: "no bus" });
  w.answer();
  const running = w.all();
  await w.live(29_000);
  assert.equal(ready(w.api.node), true);
  await w.live(3_000);
  const reported = w.api.node?.status?.conditions?.find(({ type }) => type === "Ready");
  assert.deepEqual([reported?.status, reported?.message], ["False", "cgroups cannot be set up: no bus"]);
  w.cells.qosCgroups.set({ kind: "ready" });
  await w.live(11_000);
  assert.equal(ready(w.api.node), true);
  await w.end(running);
});

test("[3.13] [3.16] a changed condition is written at the next check, once, with its event", async () => {
  const w = world();
  w.answer();
  const running = w.all();
  await w.live(1000);
  w.reported.length = 0;
  const from = w.api.requests.length;
  w.cells.pressure.set({ memory: true, disk: false, pid: false });
  await w.live(10_200);
  assert.equal(w.api.node?.status?.conditions?.[0]?.status, "True");
  await w.live(30_000);
  assert.equal(w.since(from).filter((request) => request === "patch nodes").length, 1);
  assert.deepEqual(w.reported, ["Normal NodeHasInsufficientMemory"]);
  await w.end(running);
});

test("[3.16] [3.21] startup, a cordon and an uncordon emit their Node events", async () => {
  const w = world();
  w.answer();
  const parts = { ...w, cgroups: { version: 1 as const }, snapshots: new SnapshotReader(w) };
  const running = Promise.all([w.loops.ownNode(), w.loops.register(), runNodeStatus(parts, w.stop.signal)]);
  await w.live(1000);
  assert.deepEqual(w.reported, [
    "Normal Starting",
    "Warning CgroupV1",
    "Normal NodeHasSufficientMemory",
    "Normal NodeHasNoDiskPressure",
    "Normal NodeHasSufficientPID",
    "Normal NodeReady",
  ]);
  w.reported.length = 0;
  for (const unschedulable of [true, false]) {
    w.api.put("nodes", { ...w.api.node, spec: { unschedulable } });
    await w.live(10_400);
  }
  assert.deepEqual(w.reported, ["Normal NodeNotSchedulable", "Normal NodeSchedulable"]);
  await w.end(running);
});

test("[3.14] conditions of other clients stay, and conditions that they remove from ours are restored", async () => {
  const w = world();
  w.answer();
  const running = w.all();
  await w.live(1000);
  const theirs = { type: "KernelDeadlock", status: "False" };
  const node = w.api.node ?? assert.fail();
  const conditions = [theirs, ...(node.status?.conditions ?? []).filter(({ type }) => type !== "DiskPressure")];
  w.api.put("nodes", { ...node, status: { ...node.status, conditions, addresses: [] } });
  await w.live(10_400);
  const types = w.api.node?.status?.conditions?.map(({ type }) => type);
  assert.deepEqual(types, ["KernelDeadlock", "MemoryPressure", "PIDPressure", "Ready", "DiskPressure"]);
  assert.equal(w.api.node?.status?.addresses?.length, 2);
  await w.end(running);
});

test("[3.13] a failing status patch is tried five times, reports repeated failures, and is tried again at the next check", async () => {
  const w = world();
  w.answer();
  const running = Promise.all([w.loops.ownNode(), w.loops.register(), w.loops.status()]);
  await w.live(1000);
  w.api.failures.set("patch nodes", Array.from({ length: 7 }, away));
  w.cells.pressure.set({ memory: false, disk: true, pid: false });
  await w.live(10_200);
  assert.deepEqual([w.api.requests.filter((request) => request === "patch nodes").length, w.repeated.length], [5, 4]);
  const { conditions, trouble } = w.cells.nodeReport.value;
  assert.equal(conditions.find(({ type }) => type === "DiskPressure")?.status, "True");
  assert.notEqual(trouble, "");
  await w.live(10_400);
  assert.equal(w.cells.nodeReport.value.trouble, "");
  assert.equal(w.api.node?.status?.conditions?.[1]?.status, "True");
  assert.equal(w.reported.filter((event) => event === "Normal NodeHasDiskPressure").length, 1);
  await w.end(running);
});

test("a failed status patch is no trouble any more when the status is back to what the API server has", async () => {
  const w = world();
  w.answer();
  const running = Promise.all([w.loops.ownNode(), w.loops.register(), w.loops.status()]);
  await w.live(1000);
  w.api.failures.set("patch nodes", Array.from({ length: 5 }, away));
  w.cells.pressure.set({ memory: false, disk: true, pid: false });
  await w.live(10_200);
  assert.notEqual(w.cells.nodeReport.value.trouble, "");
  w.cells.pressure.set(NO_PRESSURE);
  await w.live(10_400);
  assert.equal(w.cells.nodeReport.value.trouble, "");
  await w.end(running);
});

test("a watch that lags behind our own patch causes no second patch", async () => {
  const w = world();
  w.answer();
  const running = w.all();
  await w.live(1000);
  w.api.held = [];
  w.cells.pressure.set({ memory: true, disk: false, pid: false });
  await w.live(60_000);
  const patches = () => w.api.requests.filter((request) => request === "patch nodes").length;
  assert.equal(patches(), 1);
  w.api.release();
  await w.live(60_000);
  assert.equal(patches(), 1);
  await w.end(running);
});

test("[27.4.1] a running agent does not create a deleted Node again", async () => {
  const w = world();
  w.answer();
  const running = w.all();
  await w.live(1000);
  w.api.remove("nodes");
  await w.live(60_000);
  assert.equal(w.api.node, undefined);
  assert.equal(w.api.requests.filter((request) => request === "create nodes").length, 1);
  await w.end(running);
});

test("[3.8] a changed boot ID emits Rebooted once", async () => {
  const w = world();
  w.answer();
  const machine = { ...machineFacts, bootId: "before" };
  w.api.put("nodes", updatedNode({ metadata: { name: "n1" } }, nodeSnapshot({ machine }), w.options).node);
  const running = w.all();
  await w.live(60_000);
  assert.deepEqual(
    w.reported.filter((event) => event.endsWith("Rebooted")),
    ["Warning Rebooted"],
  );
  assert.equal(w.api.node?.status?.nodeInfo?.bootID, "boot-1");
  await w.end(running);
});

test("[3.15] the Lease is renewed from its last copy without being read", async () => {
  const w = world();
  w.answer();
  const running = w.all();
  await w.live(61_500);
  const requests = w.api.requests.filter((request) => request.endsWith("leases"));
  assert.deepEqual(requests, ["get leases", "create leases", ...Array.from({ length: 6 }, () => "update leases")]);
  assert.equal(w.api.lease?.spec?.renewTime, "1970-01-01T00:01:01.200000Z");
  await w.end(running);
});

test("[3.15] [27.4.2] a Lease of a previous kubelet process is renewed at once", async () => {
  const w = world();
  w.api.put("nodes", { metadata: { name: "n1", uid: "u" } });
  w.api.put("leases", { metadata: { name: "n1" }, spec: { holderIdentity: "n1" } });
  const running = Promise.all([w.loops.ownNode(), w.loops.lease()]);
  await w.clock.advance(0);
  assert.deepEqual(w.api.requests, ["watch nodes", "get leases", "update leases"]);
  assert.equal(w.api.lease?.spec?.holderIdentity, "n1");
  await w.end(running);
});

test("[3.15] the Lease is read once after 409 or 404, then updated or created", async () => {
  const w = world();
  w.answer();
  const running = w.all();
  await w.live(1000);
  w.api.put("leases", w.api.lease ?? assert.fail());
  let from = w.api.requests.length;
  await w.live(10_200);
  const leases = () => w.since(from).filter((request) => request.endsWith("leases"));
  assert.deepEqual(leases(), ["update leases", "get leases", "update leases"]);
  from = w.api.requests.length;
  w.api.remove("leases");
  await w.live(10_200);
  assert.deepEqual(leases(), ["update leases", "get leases", "create leases"]);
  await w.end(running);
});

test("[1.14] [3.15] a failing Lease update is tried five times at once, then repeatedly, until the API server is back", async () => {
  const w = world();
  w.answer();
  const running = w.all();
  await w.live(1000);
  const from = w.api.requests.length;
  w.api.failures.set("update leases", Array.from({ length: 14 }, away));
  await w.clock.advance(10_200);
  assert.equal(w.since(from).filter((request) => request === "update leases").length, 5 + 2);
  await w.clock.advance(60_000);
  assert.ok(w.repeated.length >= 13);
  assert.equal(w.since(from).filter((request) => request === "get leases").length, 0);
  const renewedMs = Date.parse(w.api.lease?.spec?.renewTime ?? "");
  assert.ok(w.clock.wallMs() - renewedMs <= 10_400, "renewed again");
  await w.end(running);
});

test("[3.20] podCIDRs are sent to the runtime when they change, and again after it refused them", async () => {
  const w = world();
  const running = Promise.all([w.loops.ownNode(), w.loops.podCidr()]);
  w.runtime.refusals = 1;
  w.api.put("nodes", { metadata: { name: "n1", uid: "u" } });
  await w.clock.advance(1000);
  assert.deepEqual(w.handed, []);
  const give = (...podCIDRs: readonly string[]) =>
    w.api.put("nodes", { ...w.api.node, spec: { podCIDR: podCIDRs[0] ?? "", podCIDRs } });
  give("198.18.1.0/24", "fd00::/64");
  await w.clock.advance(0);
  assert.deepEqual(w.handed, ["198.18.1.0/24,fd00::/64"]);
  await w.clock.advance(10_000);
  assert.equal(w.handed.length, 2);
  give("198.18.1.0/24", "fd00::/64");
  await w.clock.advance(60_000);
  assert.equal(w.handed.length, 2);
  await w.end(running);
});

test("[1.12] [3.20] without an API server the configured podCIDR is sent until the runtime accepts it; an empty one never", async () => {
  const w = world();
  w.runtime.refusals = 2;
  const running = setPodCidr("198.18.3.0/24", w, w.stop.signal);
  await w.clock.advance(19_999);
  assert.equal(w.handed.length, 2);
  await w.clock.advance(1);
  await running;
  assert.deepEqual(new Set(w.handed), new Set(["198.18.3.0/24"]));
  await setPodCidr("", w, w.stop.signal);
  assert.deepEqual([w.handed.length, w.clock.timersPending], [3, 0]);
});
