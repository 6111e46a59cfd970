import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { container, instance, NOW_MS, pod, sandbox, view } from "../../../test/support/pods.ts";
import type { PodStatus } from "../../api/gen/core-v1.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import type { PodContainer } from "../pod/runtime-view.ts";
import { hostAddresses } from "./addresses.ts";
import { deferredStatus, type PodStatusInputs, podStatus, rejectedStatus } from "./pod-status.ts";

const NOW = "2027-01-15T08:00:00Z";
const running: PodLifecycle = { kind: "running" };
const terminated = (kind: "deleted" | "completed"): PodLifecycle => ({ kind: "terminated", why: { kind } });
const ready = ({ state }: PodContainer) => ({ ready: state === "running", started: state === "running" });

function status(more: Partial<PodStatusInputs> = {}): PodStatus {
  return podStatus({
    pod: pod({}, { generation: 3 }),
    view: view([sandbox()], [instance("app", "running")]),
    lifecycle: running,
    previous: { phase: "Pending" },
    runtimeName: "containerd",
    waiting: new Map(),
    messages: new Map(),
    recursiveReadOnly: true,
    ready,
    qosClass: "BestEffort",
    hostIps: ["198.19.1.2"],
    firstSeenWallMs: NOW_MS,
    wallMs: NOW_MS,
    isStatic: false,
    ...more,
  });
}

const condition = ({ conditions }: PodStatus, type: string) => conditions?.find((candidate) => candidate.type === type);
const ended = (exitCode: number) =>
  view([sandbox({ state: "notReady", ips: [] })], [instance("app", "exited", { exitCode })]);

describe("phase", () => {
  const rows: readonly (readonly [string, string, Partial<PodStatusInputs>])[] = [
    ["[11.1] no container has started", "Pending", { view: view([], []) }],
    ["[11.1] a container runs", "Running", {}],
    [
      "[11.1] one of two containers has not started yet",
      "Pending",
      { pod: pod({ containers: [container("app"), container("b")] }) },
    ],
    [
      "[11.1] all containers exited and will restart",
      "Running",
      { view: view([sandbox()], [instance("app", "exited", { exitCode: 1 })]) },
    ],
    [
      "[11.1] a crashed container under OnFailure",
      "Running",
      {
        pod: pod({ restartPolicy: "OnFailure" }),
        view: view([sandbox()], [instance("app", "exited", { exitCode: 1 })]),
      },
    ],
    [
      "[11.1] all containers exited for good, the pod has not terminated yet",
      "Running",
      { pod: pod({ restartPolicy: "Never" }), view: ended(0), previous: { phase: "Running" } },
    ],
    [
      "[11.1] terminated after exit code 0",
      "Succeeded",
      { pod: pod({ restartPolicy: "Never" }), view: ended(0), lifecycle: terminated("completed") },
    ],
    [
      "[11.1] terminated after exit code 1",
      "Failed",
      { pod: pod({ restartPolicy: "Never" }), view: ended(1), lifecycle: terminated("completed") },
    ],
    ["[11.1] deleted, the container exited with 0", "Succeeded", { view: ended(0), lifecycle: terminated("deleted") }],
    ["[11.1] deleted before any container started", "Failed", { view: view([], []), lifecycle: terminated("deleted") }],
    [
      "[6.8] a static pod recreated under the same UID",
      "Running",
      { previous: { phase: "Succeeded" }, isStatic: true },
    ],
    [
      "[11.1] a terminal phase never changes",
      "Succeeded",
      { view: ended(1), previous: { phase: "Succeeded" }, lifecycle: terminated("deleted") },
    ],
    [
      "a terminated static pod whose containers never started",
      "Pending",
      { view: view([], []), lifecycle: terminated("deleted"), isStatic: true, previous: { phase: "Pending" } },
    ],
  ];
  for (const [name, phase, inputs] of rows) test(`${name}: ${phase}`, () => assert.equal(status(inputs).phase, phase));

  test("a pod that the node fails shows the requester's reason and message once it has terminated", () => {
    const why = { kind: "failed", reason: "Evicted", message: "The node was low" } as const;
    const { phase, reason, message } = status({ view: ended(0), lifecycle: { kind: "terminated", why } });
    assert.deepEqual({ phase, reason, message }, { phase: "Failed", reason: "Evicted", message: "The node was low" });
    const early = status({
      previous: { phase: "Running" },
      lifecycle: { kind: "terminating", graceSeconds: 5, sinceMonotonicMs: 0, why },
    });
    assert.deepEqual([early.phase, early.reason], ["Running", undefined], "not while a container may still run");
  });
});

describe("container statuses", () => {
  const only = (inputs: Partial<PodStatusInputs>) => status(inputs).containerStatuses?.[0];

  test("[7.25] status of a running container", () => {
    assert.deepEqual(only({}), {
      name: "app",
      image: "busybox",
      imageID: "sha256:1",
      containerID: "containerd://app-0",
      restartCount: 0,
      ready: true,
      started: true,
      state: { running: { startedAt: "2027-01-15T07:58:31Z" } },
      lastState: {},
      resources: {},
    });
  });

  test("[7.18] a container without an instance waits with ContainerCreating", () => {
    assert.deepEqual(only({ view: view([sandbox()], []) })?.state, { waiting: { reason: "ContainerCreating" } });
  });

  test("[7.13] a waiting container shows its reason, and its last exit as lastState", () => {
    const waiting = new Map([["app", { reason: "CrashLoopBackOff", message: "back-off 10s" }]]);
    const found = only({ waiting, view: view([sandbox()], [instance("app", "exited", { exitCode: 1 })]) });
    assert.deepEqual(found?.state, { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } });
    assert.equal(found?.lastState?.terminated?.exitCode, 1);
    assert.deepEqual([found?.ready, found?.started], [false, false]);
  });

  test("the older of two instances is the lastState", () => {
    const instances = [instance("app", "exited", { exitCode: 7 }), instance("app", "running", { restartCount: 1 })];
    const found = only({ view: view([sandbox()], instances) });
    assert.deepEqual([found?.restartCount, found?.lastState?.terminated?.exitCode], [1, 7]);
  });

  const PUBLISHED = { name: "app", image: "", imageID: "", ready: false };

  test("a published exit becomes the lastState when the runtime no longer has the instance", () => {
    const before = {
      ...PUBLISHED,
      restartCount: 0,
      containerID: "containerd://app-0",
      state: { terminated: { exitCode: 9 } },
    };
    const found = only({
      view: view([sandbox()], [instance("app", "running", { restartCount: 1 })]),
      previous: { containerStatuses: [before] },
    });
    assert.equal(found?.lastState?.terminated?.exitCode, 9);
  });

  test("instances that never started do not hide the last exit", () => {
    const before = {
      ...PUBLISHED,
      restartCount: 1,
      containerID: "containerd://app-1",
      state: { waiting: { reason: "ContainerCreating" } },
      lastState: { terminated: { exitCode: 9 } },
    };
    const instances = [
      instance("app", "created", { restartCount: 1 }),
      instance("app", "created", { restartCount: 2 }),
    ];
    const found = status({ view: view([sandbox()], instances), previous: { containerStatuses: [before] } });
    assert.equal(found.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 9);
    assert.equal(found.phase, "Running");
  });

  test("[7.19] a container that ran and is in an unknown state is terminated with exit code 137, under Always and Never", () => {
    for (const restartPolicy of ["Always", "Never"]) {
      const [before] = status().containerStatuses ?? [];
      assert.ok(before?.state?.running !== undefined);
      const { phase, containerStatuses } = status({
        pod: pod({ restartPolicy }),
        view: view([sandbox()], [instance("app", "unknown")]),
        previous: { phase: "Running", containerStatuses: [before] },
      });
      const [after] = containerStatuses ?? [];
      assert.deepEqual([phase, after?.ready, after?.state?.terminated?.exitCode], ["Running", false, 137]);
    }
  });

  test("[11.1] the published restart count does not decrease while a hidden instance has reached it", () => {
    const [before] =
      status({ view: view([sandbox()], [instance("app", "created", { restartCount: 4 })]) }).containerStatuses ?? [];
    assert.equal(before?.restartCount, 4);
    const old = view([sandbox()], [instance("app", "exited", { restartCount: 3 })]);
    const previous = { phase: "Running", containerStatuses: before === undefined ? [] : [before] };
    const hidden = [instance("app", "running", { restartCount: 4 })];
    assert.equal(status({ view: old, hidden, previous }).containerStatuses?.[0]?.restartCount, 4);
    const younger = [instance("app", "running", { restartCount: 5 })];
    assert.equal(status({ view: old, hidden: younger, previous }).containerStatuses?.[0]?.restartCount, 4);
    const older = [instance("app", "running", { restartCount: 3 })];
    assert.equal(status({ view: old, hidden: older, previous }).containerStatuses?.[0]?.restartCount, 3);
    // A count that another writer published is ignored.
    assert.equal(status({ view: old, previous }).containerStatuses?.[0]?.restartCount, 3);
  });

  test("[11.1] a higher restart count first seen for the same container ID is kept", () => {
    const running = view([sandbox()], [instance("app", "running")]);
    const reported = (containerID: string) => ({ containerStatuses: [{ ...PUBLISHED, containerID, restartCount: 1 }] });
    const countAfter = (more: Partial<PodStatusInputs>) => only({ view: running, ...more })?.restartCount;
    assert.equal(countAfter({ initialStatus: reported("containerd://app-0") }), 1);
    assert.equal(countAfter({ initialStatus: reported("containerd://app-9") }), 0);
    // A count that was written over the status later is ignored.
    assert.equal(countAfter({ previous: reported("containerd://app-0") }), 0);
  });

  test("[7.19] a container that ran and has no instance gets a ContainerStatusUnknown lastState; the pod stays Running", () => {
    const before = { name: "app", image: "", imageID: "", ready: true, restartCount: 2, state: { running: {} } };
    const lost = status({ view: view([sandbox()], []), previous: { phase: "Running", containerStatuses: [before] } });
    assert.deepEqual(lost.containerStatuses?.[0]?.lastState?.terminated, {
      exitCode: 137,
      reason: "ContainerStatusUnknown",
      message: "The container could not be located when the pod was deleted.  The container used to be Running",
    });
    assert.deepEqual([lost.phase, lost.containerStatuses?.[0]?.restartCount], ["Running", 3]);
  });

  test("[7.19] in a terminated pod a container without an instance is ContainerStatusUnknown with exit code 137", () => {
    const found = only({ view: view([], []), lifecycle: terminated("deleted") });
    assert.deepEqual(found?.state?.terminated, {
      exitCode: 137,
      reason: "ContainerStatusUnknown",
      message: "The container could not be located when the pod was terminated",
    });
  });

  test("[11.10] container statuses are sorted by name", () => {
    const sorted = status({ pod: pod({ containers: [container("b"), container("a")] }) }).containerStatuses;
    assert.deepEqual(
      sorted?.map(({ name }) => name),
      ["a", "b"],
    );
  });

  test("[7.17] the termination message is in the terminated state, truncated to the container's share of 12 KiB", () => {
    const containers = ["app", "b", "c", "d"].map((name) => container(name));
    const found = status({
      pod: pod({ containers }),
      messages: new Map([["app-0", "x".repeat(5000)]]),
      view: ended(1),
    });
    assert.equal(found.containerStatuses?.find(({ name }) => name === "app")?.state?.terminated?.message?.length, 3072);
    const alone = status({ messages: new Map([["app-0", "x".repeat(20_000)]]), view: ended(1) });
    assert.equal(alone.containerStatuses?.[0]?.state?.terminated?.message?.length, 12 * 1024);
  });
});

describe("conditions", () => {
  test("[11.4][11.7] kubelet-owned conditions carry observedGeneration", () => {
    const types = status().conditions?.map(({ type, status: value, observedGeneration }) => [
      type,
      value,
      observedGeneration,
    ]);
    assert.deepEqual(types, [
      ["PodReadyToStartContainers", "True", 3],
      ["Initialized", "True", 3],
      ["Ready", "True", 3],
      ["ContainersReady", "True", 3],
      ["PodScheduled", "True", 3],
    ]);
  });

  test("[11.5] Ready names the containers that are not ready", () => {
    const { reason, message, status: value } = condition(status({ view: view([sandbox()], []) }), "Ready") ?? {};
    assert.deepEqual(
      [value, reason, message],
      ["False", "ContainersNotReady", "containers with unready status: [app]"],
    );
  });

  test("[11.5] ContainersReady is False with UnknownContainerStatuses when there are no container statuses", () => {
    const { reason, status: value } = condition(status({ pod: pod({ containers: [] }) }), "ContainersReady") ?? {};
    assert.deepEqual([value, reason], ["False", "UnknownContainerStatuses"]);
  });

  test("[11.6] Ready needs ready containers and every readiness gate True", () => {
    const gated = pod({ readinessGates: [{ conditionType: "a.test/x" }, { conditionType: "a.test/y" }] });
    const ready = (...conditions: NonNullable<PodStatus["conditions"]>) => {
      const now = status({ pod: gated, previous: { conditions } });
      assert.equal(condition(now, "ContainersReady")?.status, "True");
      const { status: value, reason, message } = condition(now, "Ready") ?? {};
      return [value, reason, message];
    };
    const missing = (name: string) => `corresponding condition of pod readiness gate "a.test/${name}" does not exist.`;
    const gates = "ReadinessGatesNotReady";
    assert.deepEqual(ready(), ["False", gates, `${missing("x")}, ${missing("y")}`]);
    assert.deepEqual(ready({ type: "a.test/x", status: "Unknown" }, { type: "a.test/y", status: "True" }), [
      "False",
      gates,
      'the status of pod readiness gate "a.test/x" is not "True", but Unknown',
    ]);
    const [x, y] = ["x", "y"].map((name) => ({ type: `a.test/${name}`, status: "True" }));
    assert.ok(x !== undefined && y !== undefined);
    assert.deepEqual(ready(x, y), ["True", undefined, undefined]);
  });

  test("[11.6] readiness gates are not evaluated while containers are not ready", () => {
    const gated = pod({ readinessGates: [{ conditionType: "a.test/x" }] });
    const waits = condition(status({ pod: gated, view: view([sandbox()], []) }), "Ready");
    assert.equal(waits?.reason, "ContainersNotReady");
  });

  test("[11.5] a terminated pod is not ready, with reason PodCompleted or PodFailed", () => {
    const done = { pod: pod({ restartPolicy: "Never" }), lifecycle: terminated("completed") };
    assert.equal(condition(status({ ...done, view: ended(0) }), "Ready")?.reason, "PodCompleted");
    assert.equal(condition(status({ ...done, view: ended(1) }), "ContainersReady")?.reason, "PodFailed");
  });

  test("[11.5] lastTransitionTime changes only with the condition's status", () => {
    const since = "2020-01-01T00:00:00Z";
    const previous = {
      conditions: [
        { type: "Ready", status: "True", lastTransitionTime: since },
        { type: "ContainersReady", status: "False", lastTransitionTime: since },
      ],
    };
    const now = status({ previous });
    assert.deepEqual(
      [condition(now, "Ready")?.lastTransitionTime, condition(now, "ContainersReady")?.lastTransitionTime],
      [since, NOW],
    );
  });

  test("[11.4][11.11] conditions and fields of other writers are kept", () => {
    const foreign = { type: "example.com/gate", status: "True" };
    const now = status({
      previous: {
        conditions: [foreign],
        nominatedNodeName: "x",
        resourceClaimStatuses: [{ name: "c" }],
        extendedResourceClaimStatus: { resourceClaimName: "e", requestMappings: [] },
      },
    });
    assert.deepEqual(
      [condition(now, "example.com/gate"), now.nominatedNodeName, now.resourceClaimStatuses],
      [foreign, "x", [{ name: "c" }]],
    );
    assert.equal(now.extendedResourceClaimStatus?.resourceClaimName, "e");
  });
});

test("[11.2] a container that failed to start has startedAt 1970-01-01T00:00:00Z", () => {
  const { startedWallNs: _, ...never } = instance("app", "exited", { exitCode: 128, reason: "StartError" });
  const { terminated } = status({ view: view([sandbox()], [never]) }).containerStatuses?.[0]?.lastState ?? {};
  const state = status({ pod: pod({ restartPolicy: "Never" }), view: view([sandbox()], [never]) });
  assert.equal(terminated, undefined);
  assert.equal(state.containerStatuses?.[0]?.state?.terminated?.startedAt, "1970-01-01T00:00:00Z");
});

test("[13.15] volumeMounts show path, readOnly and the resolved recursiveReadOnly mode", () => {
  const mounts = [
    { name: "a", mountPath: "/a" },
    { name: "b", mountPath: "/b", readOnly: true },
    { name: "c", mountPath: "/c", readOnly: true, recursiveReadOnly: "Enabled" },
    { name: "d", mountPath: "/d", readOnly: true, recursiveReadOnly: "IfPossible" },
  ];
  const shown = (recursiveReadOnly: boolean, more: Partial<PodStatusInputs> = {}) =>
    status({ pod: pod({ containers: [container("app", { volumeMounts: mounts })] }), recursiveReadOnly, ...more })
      .containerStatuses?.[0]?.volumeMounts;
  const resolved = (mode: string) => [
    { name: "a", mountPath: "/a" },
    { name: "b", mountPath: "/b", readOnly: true, recursiveReadOnly: "Disabled" },
    { name: "c", mountPath: "/c", readOnly: true, recursiveReadOnly: mode },
    { name: "d", mountPath: "/d", readOnly: true, recursiveReadOnly: mode },
  ];
  assert.deepEqual(shown(true), resolved("Enabled"));
  assert.deepEqual(shown(false), resolved("Disabled"));
  assert.deepEqual(shown(true, { view: view([], []) }), resolved("Enabled"));
  assert.equal(status().containerStatuses?.[0]?.volumeMounts, undefined);
});

describe("addresses and times", () => {
  test("[11.8] podIPs come from the sandbox, hostIPs from the node", () => {
    const { podIP, podIPs, hostIP, hostIPs } = status();
    assert.deepEqual(
      { podIP, podIPs, hostIP, hostIPs },
      { podIP: "198.18.0.5", podIPs: [{ ip: "198.18.0.5" }], hostIP: "198.19.1.2", hostIPs: [{ ip: "198.19.1.2" }] },
    );
  });

  test("[11.8] podIP is kept while the sandbox is not ready", () => {
    assert.equal(
      status({ view: ended(0), previous: { podIP: "198.18.0.9", podIPs: [{ ip: "198.18.0.9" }] } }).podIP,
      "198.18.0.9",
    );
  });

  test("[11.8] a hostNetwork pod gets the node's address and keeps an address it already has", () => {
    const onNode = pod({ hostNetwork: true });
    assert.equal(status({ pod: onNode }).podIP, "198.19.1.2");
    assert.equal(
      status({ pod: onNode, previous: { podIP: "198.19.1.9", podIPs: [{ ip: "198.19.1.9" }] } }).podIP,
      "198.19.1.9",
    );
  });

  test("[11.8] podIPs has at most one address per family, the family of the node's first address first", () => {
    const ips = ["fd00::0005", "198.18.0.5", "fd00::6", "198.18.0.6"];
    const seen = view([sandbox({ ips })], [instance("app", "running")]);
    const podIps = (...hostIps: readonly string[]) => status({ view: seen, hostIps }).podIPs?.map(({ ip }) => ip);
    assert.deepEqual(podIps("198.19.1.2"), ["198.18.0.5", "fd00::5"]);
    assert.deepEqual(podIps("fd00::1", "198.19.1.2"), ["fd00::5", "198.18.0.5"]);
    assert.deepEqual(podIps(), ["198.18.0.5", "fd00::5"]);
    assert.equal(status({ view: seen, hostIps: ["fd00::1"] }).podIP, "fd00::5");
  });

  test("[11.8] a hostNetwork pod keeps its address and gains one of the second family", () => {
    const onNode = pod({ hostNetwork: true });
    const previous = { podIP: "198.19.1.9", podIPs: [{ ip: "198.19.1.9" }] };
    const now = status({ pod: onNode, previous, hostIps: ["198.19.1.2", "fd00::1"] });
    assert.deepEqual(now.podIPs, [{ ip: "198.19.1.9" }, { ip: "fd00::1" }]);
    assert.deepEqual(now.hostIPs, [{ ip: "198.19.1.2" }, { ip: "fd00::1" }]);
  });

  test("[11.8] hostIPs prefers InternalIP to ExternalIP, one address per family", () => {
    const at = (type: string, address: string) => ({ type, address });
    const mixed = [at("Hostname", "n1"), at("ExternalIP", "fd00::9"), at("InternalIP", "198.19.1.2")];
    assert.deepEqual(hostAddresses([...mixed, at("InternalIP", "198.19.1.3")]), ["198.19.1.2", "fd00::9"]);
    assert.deepEqual(hostAddresses([]), []);
  });

  test("[11.9] qosClass and startTime do not change once set", () => {
    assert.deepEqual([status().qosClass, status().startTime], ["BestEffort", NOW]);
    const again = status({ previous: { qosClass: "Burstable", startTime: "2020-01-01T00:00:00Z" } });
    assert.deepEqual([again.qosClass, again.startTime], ["Burstable", "2020-01-01T00:00:00Z"]);
  });
});

test("[5.1] a rejected pod is Failed with reason and message, without container statuses", () => {
  const rejected = rejectedStatus(
    pod({}, { generation: 3 }),
    {},
    { reason: "NotSupported", message: "no" },
    { qosClass: "BestEffort", firstSeenWallMs: NOW_MS },
  );
  assert.deepEqual(rejected, {
    phase: "Failed",
    reason: "NotSupported",
    message: "Pod was rejected: no",
    observedGeneration: 3,
    qosClass: "BestEffort",
    startTime: NOW,
  });
});

test("[25.8] a deferred pod is Pending with reason and message; both are cleared once it is admitted", () => {
  const deferral = { reason: "WaitingForRuntimeClass", message: "not yet" } as const;
  const facts = { qosClass: "Burstable", firstSeenWallMs: NOW_MS };
  const waiting = deferredStatus(pod({}, { generation: 1 }), { conditions: [] }, deferral, facts);
  assert.deepEqual(waiting, {
    conditions: [],
    phase: "Pending",
    ...deferral,
    observedGeneration: 1,
    qosClass: "Burstable",
    startTime: NOW,
  });
  assert.equal(deferredStatus(pod({}), { phase: "Running" }, deferral, facts).phase, "Running");
  const taken = status({ previous: waiting });
  assert.deepEqual([taken.reason, taken.message], [undefined, undefined]);
  const kept = status({ previous: { reason: "Evicted", message: "by somebody" } });
  assert.deepEqual([kept.reason, kept.message], ["Evicted", "by somebody"]);
});
