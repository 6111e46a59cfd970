/** Admission, rejection, waiting and preemption of pods: the real loops in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "../src/api/gen/core-v1.ts";
import { nodes, pods } from "../src/api/resources.ts";
import { createJournal } from "../src/controllers/journal/journal.ts";
import { oneNode } from "../test/support/one-node.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import type { FaultPlan } from "./port-calls.ts";

const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 300, code: 0 } } };
const stubborn: Behaviour = {};
const CRITICAL = 2_000_000_000;

function begin(plan?: FaultPlan, ...flags: readonly string[]) {
  const { create, ...one } = oneNode(plan, ...flags);
  const { world, node } = one;
  const nodeName = { name: "n1" };
  return {
    ...one,
    /** `cpu` is the CPU request; undefined: no requests. */
    create: (name: string, cpu: string | undefined, spec: Partial<PodSpec> = {}, behaviour = server) => {
      const resources = cpu === undefined ? {} : { requests: { cpu } };
      create(name, { command: [...scripted(behaviour)], resources }, spec);
    },
    remove: (name: string) =>
      world.api.writes.delete(kindOf(pods), { namespace: "default", name }, { gracePeriodSeconds: 5 }, ADMIN),
    label: (labels: Record<string, string | null>) =>
      world.api.writes.patch(
        kindOf(nodes),
        nodeName,
        { kind: "merge", body: { metadata: { labels } } },
        undefined,
        ADMIN,
      ),
    decisions: async () => {
      const directory = "/var/lib/kubelet/deckhand/journal";
      const files = node.files.port;
      const records = await createJournal({
        files,
        directory,
        clock: world.clock,
        onProblem: (problem) => assert.fail(JSON.stringify(problem)),
      }).replay();
      return records.flatMap((record) =>
        record.kind === "decision" && "why" in record.decision
          ? [`${record.pod} ${record.decision.kind}: ${record.decision.why}`]
          : [],
      );
    },
  };
}

test("[5.2] rejects a pod that does not fit and names the amounts; the same size fits once another pod is gone", async () => {
  const { world, find, create, remove, eventsOf, counted } = begin();
  create("first", "3500m");
  await world.advance(5_000);
  create("second", "600m");
  create("third", "500m");
  await world.advance(5_000);
  const message = "Node didn't have enough resource: cpu, requested: 600, used: 3500, capacity: 4000";
  const { phase, reason, message: said } = find("second")?.status ?? {};
  assert.deepEqual([phase, reason, said], ["Failed", "OutOfcpu", `Pod was rejected: ${message}`]);
  assert.deepEqual(
    (await eventsOf("second")).map((event) => [event.type, event.reason, event.message]),
    [["Warning", "OutOfcpu", message]],
  );
  assert.equal(find("third")?.status?.phase, "Running");
  assert.deepEqual(counted("kubelet_admission_rejections_total"), { "reason=OutOfcpu": 1 });
  remove("first");
  await world.advance(10_000);
  create("fourth", "3500m");
  await world.advance(5_000);
  assert.equal(find("fourth")?.status?.phase, "Running");
  assert.equal(find("second")?.status?.phase, "Failed", "a verdict is not taken back");
});

test("[5.2] a pod with an amount beyond every node is rejected, and delays the admission of no other pod", async () => {
  const { world, create, find } = begin();
  await world.advance(5_000);
  create("hostile", "1e5001");
  create("other", "1");
  await world.advance(10_000);
  assert.deepEqual([find("hostile")?.status?.phase, find("hostile")?.status?.reason], ["Failed", "OutOfcpu"]);
  assert.equal(find("other")?.status?.phase, "Running");
});

test("[5.3] queries the Node once for labels the watch has not delivered before rejecting a pod", async () => {
  let isStale = false;
  let asked = 0;
  const { world, find, create, label } = begin(({ port, name, target }) => {
    if (port !== "api" || !target.startsWith("nodes")) return undefined;
    if (isStale && name === "GET") asked += 1;
    return isStale && (name === "WATCH" || name === "LIST") ? { kind: "hang", effect: "none" } : undefined;
  });
  await world.advance(10_000);
  isStale = true;
  world.api.breakWatches("n1");
  await world.advance(1_000);
  label({ zone: "b" });
  create("matches", undefined, { nodeSelector: { zone: "b" } });
  await world.advance(10_000);
  assert.equal(find("matches")?.status?.phase, "Running");
  assert.equal(asked, 1);
  create("elsewhere", undefined, { nodeSelector: { zone: "c" } });
  create("wrong-and-big", "9", { nodeSelector: { zone: "c" } });
  await world.advance(5_000);
  assert.deepEqual(
    [find("elsewhere")?.status?.reason, find("wrong-and-big")?.status?.reason],
    ["NodeAffinity", "OutOfcpu"],
  );
  assert.equal(asked, 2);
});

test("[5.3] admits by the last known labels while GET of the Node hangs", async () => {
  const { world, find, create } = begin(({ port, name, target }) =>
    port === "api" && name === "GET" && target.startsWith("nodes") ? { kind: "hang", effect: "none" } : undefined,
  );
  create("elsewhere", undefined, { nodeSelector: { zone: "c" } });
  create("plain", undefined);
  await world.advance(20_000);
  assert.equal(find("elsewhere")?.status?.reason, "NodeAffinity");
  assert.equal(find("plain")?.status?.phase, "Running");
});

test("[5.13] running pods are not admitted again after a restart, although the node lost labels and capacity", async () => {
  const { world, node, start, find, create, label } = begin();
  await world.advance(5_000);
  label({ zone: "a" });
  for (let index = 0; index < 20; index += 1) create(`p${index}`, "190m", { nodeSelector: { zone: "a" } });
  await world.advance(30_000);
  const ids = [...node.runtime.containers.keys()].sort();
  assert.equal(ids.length, 20);
  node.crash();
  label({ zone: null });
  node.machine.machine = { ...node.machine.machine, cpus: 2, memoryBytes: 1024n ** 3n };
  start();
  await world.advance(120_000);
  assert.deepEqual([...node.runtime.containers.keys()].sort(), ids, "no container ended or began");
  for (let index = 0; index < 20; index += 1) assert.equal(find(`p${index}`)?.status?.phase, "Running");
  create("late", "100m");
  await world.advance(5_000);
  assert.equal(find("late")?.status?.reason, "OutOfcpu", "the node is as full as it is");
});

test("[5.13] running pods are not admitted again when the journal is lost: the runtime is listed first", async () => {
  const { world, node, start, find, create } = begin();
  create("first", "3");
  await world.advance(10_000);
  node.crash();
  for (const name of await node.files.port.list("/var/lib/kubelet/deckhand/journal"))
    await node.files.port.removeFile(`/var/lib/kubelet/deckhand/journal/${name}`);
  node.machine.machine = { ...node.machine.machine, cpus: 1 };
  const ids = [...node.runtime.containers.keys()];
  start();
  await world.advance(60_000);
  assert.deepEqual([...node.runtime.containers.keys()], ids);
  assert.equal(find("first")?.status?.phase, "Running");
});

/** A node whose Node has no allocatable resources until `release` is called. */
async function beginWithoutAllocatable(...flags: readonly string[]) {
  let isHeld = false;
  const begun = begin(
    ({ port, name, target }) =>
      isHeld && port === "api" && name === "PATCH" && target.startsWith("nodes")
        ? { kind: "fail", effect: "none" }
        : undefined,
    ...flags,
  );
  await begun.world.advance(10_000);
  begun.node.crash();
  isHeld = true;
  const emptied = { status: { allocatable: null } };
  begun.world.api.writes.patch(kindOf(nodes), { name: "n1" }, { kind: "merge", body: emptied }, "status", ADMIN);
  begun.start();
  return { ...begun, release: () => void (isHeld = false) };
}

test("[5.2] in strict mode a pod is decided with the Node as it is after 5 s without allocatable resources, and says nothing before", async () => {
  const { world, node, find, create, eventsOf, decisions } = await beginWithoutAllocatable();
  create("early", "1");
  await world.advance(4_500);
  assert.deepEqual([find("early")?.status?.phase, find("early")?.status?.reason], ["Pending", undefined]);
  await world.advance(2_000);
  assert.deepEqual([find("early")?.status?.phase, find("early")?.status?.reason], ["Failed", "OutOfpods"]);
  assert.deepEqual(
    (await eventsOf("early")).map((event) => [event.type, event.reason]),
    [["Warning", "OutOfpods"]],
  );
  node.crash();
  const waited = "default/early defer: WaitingForNode: what this node can give is not known yet";
  assert.deepEqual(
    (await decisions()).filter((line) => line.includes(" defer: ")),
    [waited],
  );
});

test("[5.2] in strict mode a pod is admitted as soon as the Node has allocatable resources", async () => {
  const { world, find, create, eventsOf, release } = await beginWithoutAllocatable();
  create("early", "1");
  await world.advance(1_000);
  release();
  await world.advance(20_000);
  assert.deepEqual([find("early")?.status?.phase, find("early")?.status?.reason], ["Running", undefined]);
  assert.deepEqual(
    (await eventsOf("early")).filter(({ reason }) => reason?.startsWith("WaitingFor") === true),
    [],
  );
});

test("[5.2] in enhanced mode a pod waits with reason WaitingForNode and a journal record while the Node has no allocatable", async () => {
  const { world, node, find, create, eventsOf, decisions, release } = await beginWithoutAllocatable(
    "--deckhand-compatibility=enhanced",
  );
  create("early", "1");
  await world.advance(5_000);
  const { phase, reason, message } = find("early")?.status ?? {};
  assert.deepEqual([phase, reason, message], ["Pending", "WaitingForNode", "what this node can give is not known yet"]);
  assert.deepEqual(
    (await eventsOf("early")).map((event) => [event.type, event.reason]),
    [["Normal", "WaitingForNode"]],
  );
  release();
  await world.advance(20_000);
  assert.deepEqual([find("early")?.status?.phase, find("early")?.status?.reason], ["Running", undefined]);
  node.crash();
  const reported = await decisions();
  assert.ok(
    reported.includes("default/early defer: WaitingForNode: what this node can give is not known yet"),
    reported.join("\n"),
  );
});

test("[5.5] a preempted pod gets an event, a metric and DisruptionTarget; the critical pod starts after it has ended", async () => {
  const { world, node, find, create, eventsOf, counted, decisions } = begin();
  create("keeps", "1");
  create("yields", "2500m");
  await world.advance(10_000);
  create("critical", "2", { priority: CRITICAL });
  await world.advance(200);
  const waiting = find("critical")?.status;
  assert.deepEqual(
    [waiting?.phase, waiting?.reason, waiting?.message],
    ["Pending", "WaitingForPreemption", "pods that make room have not ended yet: default/yields"],
  );
  assert.equal(
    find("yields")?.status?.phase,
    "Running",
    "no terminal phase is published before the pod has terminated",
  );
  await world.advance(5_000);
  const ended = find("yields")?.status;
  const message = "Preempted in order to admit critical pod";
  assert.deepEqual([ended?.phase, ended?.reason, ended?.message], ["Failed", "Preempting", message]);
  const condition = ended?.conditions?.find(({ type }) => type === "DisruptionTarget");
  assert.deepEqual(
    [condition?.status, condition?.reason, condition?.message],
    ["True", "TerminationByKubelet", "Pod was preempted by Kubelet to accommodate a critical pod."],
  );
  const reported = (await eventsOf("yields")).filter(({ reason }) => reason === "Preempting");
  assert.deepEqual(
    reported.map((event) => [event.type, event.message, event.count]),
    [["Warning", message, 1]],
  );
  const { phase, reason } = find("critical")?.status ?? {};
  assert.deepEqual([phase, reason], ["Running", undefined]);
  assert.equal(find("keeps")?.status?.phase, "Running");
  assert.deepEqual(counted("kubelet_preemptions"), { "preemption_signal=cpu": 1 });
  assert.deepEqual(counted("kubelet_admission_rejections_total"), {});
  node.crash();
  assert.ok(
    (await decisions()).includes("default/yields preempt: default/critical is critical and finds too little cpu"),
  );
});

test("[5.5] an agent restart during preemption preempts no further pods, and the critical pod still starts", async () => {
  const { world, node, start, find, create } = begin();
  create("keeps", "1");
  create("yields", "2500m", { terminationGracePeriodSeconds: 20 }, stubborn);
  await world.advance(10_000);
  create("critical", "2", { priority: CRITICAL });
  await world.advance(1_000);
  node.crash();
  start();
  await world.advance(10_000);
  assert.equal(find("critical")?.status?.reason, "WaitingForPreemption");
  await world.advance(30_000);
  assert.deepEqual(
    ["keeps", "yields", "critical"].map((name) => find(name)?.status?.phase),
    ["Running", "Failed", "Running"],
  );
});

test("[6.9] a critical pod waits for a preempted pod 1.5 times that pod's grace period", async () => {
  const { world, find, create, eventsOf } = begin(({ port, name }) =>
    port === "runtime" && name === "StopContainer" ? { kind: "hang", effect: "none" } : undefined,
  );
  create("stuck", "3", { terminationGracePeriodSeconds: 20 });
  await world.advance(10_000);
  create("critical", "2", { priority: CRITICAL });
  await world.advance(29_000);
  assert.equal(find("critical")?.status?.reason, "WaitingForPreemption");
  await world.advance(5_000);
  assert.equal(find("critical")?.status?.phase, "Running");
  assert.equal((await eventsOf("stuck")).filter(({ reason }) => reason === "ExceededGracePeriod").length, 1);
});

test("[5.5] [6.9] a preempted pod that exceeds its grace period gets an event, and the critical pod stops waiting for it", async () => {
  const { world, find, create, eventsOf } = begin(({ port, name }) =>
    port === "runtime" && name === "StopContainer" ? { kind: "hang", effect: "none" } : undefined,
  );
  create("stuck", "3", { terminationGracePeriodSeconds: 4 });
  await world.advance(10_000);
  create("critical", "2", { priority: CRITICAL });
  await world.advance(9_000);
  assert.equal(find("critical")?.status?.reason, "WaitingForPreemption");
  await world.advance(5_000);
  assert.equal(find("critical")?.status?.phase, "Running");
  const reported = (await eventsOf("stuck")).filter(({ reason }) => reason === "ExceededGracePeriod");
  assert.deepEqual(
    reported.map(({ type, message }) => [type, message]),
    [["Warning", "Container runtime did not kill the pod within specified grace period."]],
  );
});

test("[5.5] capacity freed by preemption is reserved for the critical pod, and an ordinary pod preempts nobody", async () => {
  const { world, find, create } = begin();
  create("yields", "3500m", { terminationGracePeriodSeconds: 20 }, stubborn);
  await world.advance(10_000);
  create("critical", "3500m", { priority: CRITICAL });
  await world.advance(2_000);
  create("sneaks", "1");
  create("fits", "400m");
  await world.advance(2_000);
  assert.equal(find("sneaks")?.status?.reason, "OutOfcpu");
  await world.advance(30_000);
  assert.deepEqual([find("critical")?.status?.phase, find("fits")?.status?.phase], ["Running", "Running"]);
});

test("[5.6] a node with DiskPressure admits only critical pods", async () => {
  const { world, node, find, create } = begin(undefined, "--eviction-hard=nodefs.available<10%");
  await world.advance(10_000);
  const disk = await node.machine.filesystem("/");
  node.machine.filesystems.set("/", { ...disk, availableBytes: 1n });
  await world.advance(30_000);
  create("plain", undefined);
  create("critical", undefined, { priority: CRITICAL });
  await world.advance(5_000);
  const { phase, reason, message } = find("plain")?.status ?? {};
  assert.deepEqual(
    [phase, reason, message],
    ["Failed", "Evicted", "Pod was rejected: The node had condition: [DiskPressure]. "],
  );
  assert.equal(find("critical")?.status?.phase, "Running");
});

test("[5.10] rejects a pod that needs a feature the node does not declare", async () => {
  const { world, find, create } = begin();
  create("needy", undefined, { hostNetwork: true, hostUsers: false });
  await world.advance(10_000);
  const message = "Pod requires node features that are not available:";
  const { phase, reason, message: said } = find("needy")?.status ?? {};
  assert.deepEqual(
    [phase, reason, said],
    ["Failed", "PodFeatureUnsupported", `Pod was rejected: ${message} UserNamespacesHostNetworkSupport`],
  );
});

test("[5.13] after a restart admitted pods keep their resources before a new pod is admitted, even an older one", async () => {
  const { world, node, start, find, create } = begin();
  await world.advance(5_000);
  create("taken", "3500m");
  await world.advance(10_000);
  node.crash();
  create("bound-late", "1");
  const kind = kindOf(pods);
  const stored = world.api.store.get(kind, "default/bound-late") ?? assert.fail("it was made");
  const creationTimestamp = "2001-01-01T00:00:00Z";
  world.api.store.put(kind, { ...stored, metadata: { ...stored.metadata, creationTimestamp } });
  start();
  await world.advance(10_000);
  assert.deepEqual([find("taken")?.status?.phase, find("bound-late")?.status?.reason], ["Running", "OutOfcpu"]);
});
