import assert from "node:assert/strict";
import { test } from "node:test";
import { container, instance, NOW_MS, pod, sandbox, snapshot, view } from "../../../test/support/pods.ts";
import type { ContainerState, Pod, PodStatus } from "../../api/gen/core-v1.ts";
import { FIRST_VERDICTS } from "../probes/verdicts.ts";
import { computePodActions, type PodAction } from "./pod-actions.ts";
import type { PodSnapshot } from "./pod-snapshot.ts";

const directories: readonly PodAction[] = [{ kind: "makeRoom" }];
const start = (name: string, restartCount: number, after?: { finishedWallMs: number; ageMs: number }): PodAction => ({
  kind: "startContainer",
  name,
  restartCount,
  after,
});
const exit = (ageMs = 1_000) => ({ finishedWallMs: NOW_MS - ageMs, ageMs });
const stopApp = (kind: "definitionChanged" | "stateUnknown" | "superseded", id = "app-0"): PodAction => ({
  kind: "stopContainers",
  containers: [{ id, name: "app", reason: { kind } }],
});
const knownExit = {
  containerId: "c",
  exitCode: 0,
  reason: "Completed",
  startedWallNs: 1n,
  finishedWallNs: 2n,
  restartCount: 0,
};
const never = { pod: pod({ restartPolicy: "Never" }) };
const onFailure = { pod: pod({ restartPolicy: "OnFailure" }) };
/** The published status of one container instance. */
const reported = (id: string, restartCount: number): PodStatus => ({
  containerStatuses: [
    { name: "app", image: "", imageID: "", ready: true, containerID: `containerd://${id}`, restartCount },
  ],
});
const ready = [sandbox()];
const dead = [sandbox({ state: "notReady", ips: [] })];

const failed = (probe: "liveness" | "startup", id = "app-0"): PodSnapshot["verdicts"] =>
  new Map([[id, { ...FIRST_VERDICTS, [probe]: "failure" }]]);
const killedFor = (probe: "liveness" | "startup"): PodAction => ({
  kind: "stopContainers",
  containers: [{ id: "app-0", name: "app", reason: { kind: "probeFailed", probe } }],
});

const rows: readonly (readonly [string, Partial<PodSnapshot>, readonly PodAction[]])[] = [
  [
    "[7.1][7.23] a new pod gets its directories, its cgroup and a sandbox",
    {},
    [...directories, { kind: "createSandbox", attempt: 0, replaces: "none" }],
  ],
  [
    "[7.6] containers start in spec order once the sandbox is ready",
    {
      pod: pod({ containers: [container("b"), container("a")] }),
      view: view(ready, []),
    },
    [start("b", 0), start("a", 0)],
  ],
  [
    "[12.7] a container that failed its liveness probe is stopped",
    { view: view(ready, [instance("app", "running")]), verdicts: failed("liveness") },
    [killedFor("liveness")],
  ],
  [
    "[12.7] a container that failed its startup probe is stopped, also under Never",
    {
      pod: pod({ containers: [container("app"), container("other")], restartPolicy: "Never" }),
      view: view(ready, [instance("app", "running"), instance("other", "running")]),
      verdicts: failed("startup"),
    },
    [killedFor("startup")],
  ],
  [
    "[12.7] a failed liveness probe of the last container ends the pod under Never",
    { ...never, view: view(ready, [instance("app", "running")]), verdicts: failed("liveness") },
    [{ kind: "stopContainers", containers: [{ id: "app-0", name: "app", reason: { kind: "podEnds" } }] }],
  ],
  [
    "[12.7] verdicts of another instance and failed readiness stop nothing",
    {
      view: view(ready, [instance("app", "running")]),
      verdicts: new Map([...failed("liveness", "app-9"), ["app-0", FIRST_VERDICTS]]),
    },
    [],
  ],
  [
    "[12.7] a container killed for its liveness probe restarts under OnFailure even with exit code 0",
    { ...onFailure, view: view(ready, [instance("app", "exited", { exitCode: 0 })]), verdicts: failed("liveness") },
    [start("app", 1, exit())],
  ],
  [
    "[12.7] a container killed for its liveness probe does not restart under Never",
    { ...never, view: view(ready, [instance("app", "exited", { exitCode: 0 })]), verdicts: failed("liveness") },
    [],
  ],
  ["a running container needs no action", { view: view(ready, [instance("app", "running")]) }, []],
  [
    "[7.4] an image change stops the running container",
    {
      pod: pod({ containers: [container("app", { image: "other" })] }),
      view: view(ready, [instance("app", "running")]),
    },
    [stopApp("definitionChanged")],
  ],
  [
    "[7.4] a container with a changed image restarts under Never too",
    {
      pod: pod({ containers: [container("app", { image: "other" })], restartPolicy: "Never" }),
      view: view(ready, [instance("app", "exited", { exitCode: 0 })]),
    },
    [start("app", 1, exit())],
  ],
  [
    "[7.10] exit code 0 restarts under Always",
    { view: view(ready, [instance("app", "exited")]) },
    [start("app", 1, exit())],
  ],
  [
    "[7.10] exit code 1 restarts under OnFailure",
    { ...onFailure, view: view(ready, [instance("app", "exited", { exitCode: 1 })]) },
    [start("app", 1, exit())],
  ],
  [
    "a created container is started, not created again",
    { view: view(ready, [instance("app", "created")]) },
    [{ kind: "startCreated", name: "app", id: "app-0" }],
  ],
  [
    "a container in an unknown state is stopped first",
    { view: view(ready, [instance("app", "unknown")]) },
    [stopApp("stateUnknown")],
  ],
  [
    "[7.5] the restart count continues from a higher count first seen for the same container ID",
    { initialStatus: reported("app-0", 4), view: view(ready, [instance("app", "exited")]) },
    [start("app", 5, exit())],
  ],
  [
    "[7.5] a restart count of another container ID is ignored",
    { initialStatus: reported("app-9", 4), view: view(ready, [instance("app", "exited")]) },
    [start("app", 1, exit())],
  ],
  [
    "[7.5] a restart count in the pod's current status is ignored when it was not there at first sight",
    { pod: { ...pod(), status: reported("app-0", 4) }, view: view(ready, [instance("app", "exited")]) },
    [start("app", 1, exit())],
  ],
  [
    "the older of two running instances is stopped",
    { view: view(ready, [instance("app", "running"), instance("app", "running", { restartCount: 1 })]) },
    [stopApp("superseded")],
  ],
  [
    "[7.2] a sandbox that is not ready is stopped and replaced, with a higher attempt",
    { view: view(dead, []) },
    [
      { kind: "stopSandboxes", ids: ["sandbox-0"] },
      ...directories,
      { kind: "createSandbox", attempt: 1, replaces: "notReady" },
    ],
  ],
  [
    "[7.2] two ready sandboxes are both stopped, containers first",
    { view: view([sandbox(), sandbox({ attempt: 1 })], [instance("app", "running", { sandboxId: "sandbox-1" })]) },
    [
      {
        kind: "stopContainers",
        containers: [{ id: "app-0", name: "app", reason: { kind: "sandboxChanged", flaw: "severalReady" } }],
      },
      { kind: "stopSandboxes", ids: ["sandbox-1", "sandbox-0"] },
    ],
  ],
  [
    "[7.2] a ready sandbox without an IP address is stopped",
    { view: view([sandbox({ ips: [] })], []) },
    [{ kind: "stopSandboxes", ids: ["sandbox-0"] }],
  ],
  [
    "[7.2] the sandbox of a hostNetwork pod needs no IP address",
    {
      pod: pod({ hostNetwork: true }),
      view: view(
        [sandbox({ ips: [], namespaces: { network: "node", pid: "container", ipc: "pod" } })],
        [instance("app", "running")],
      ),
    },
    [],
  ],
  [
    "[7.2] a sandbox in the wrong network namespace is stopped",
    { pod: pod({ hostNetwork: true }), view: view(ready, []) },
    [{ kind: "stopSandboxes", ids: ["sandbox-0"] }],
  ],
  [
    "[7.3] containers restart after a reboot and restart counts continue",
    { view: view([sandbox({ attempt: 1 })], [instance("app", "exited", { exitCode: 255, restartCount: 3 })]) },
    [start("app", 4, exit())],
  ],
  [
    "[14.5] a missing pod cgroup stops containers and sandbox",
    { cgroupMissing: true, view: view(ready, [instance("app", "running")]) },
    [
      { kind: "stopContainers", containers: [{ id: "app-0", name: "app", reason: { kind: "cgroupMissing" } }] },
      { kind: "stopSandboxes", ids: ["sandbox-0"] },
    ],
  ],
  [
    "[7.5] without an instance the restart count comes from the log files",
    { view: view(ready, []), restartFloor: new Map([["app", 3]]) },
    [start("app", 3)],
  ],
  [
    "a sandbox attempt whose name may be in use is skipped",
    { sandboxFloor: 2 },
    [...directories, { kind: "createSandbox", attempt: 2, replaces: "none" }],
  ],
  [
    "[7.13] the first restart is immediate",
    { view: view(ready, [instance("app", "exited", { exitCode: 1 })]) },
    [start("app", 1, exit())],
  ],
  [
    "a container missing from the spec is stopped",
    { view: view(ready, [instance("app", "running"), instance("ghost", "running")]) },
    [{ kind: "stopContainers", containers: [{ id: "ghost-0", name: "ghost", reason: { kind: "superseded" } }] }],
  ],
];

for (const [name, world, want] of rows) {
  test(name, () => assert.deepEqual(computePodActions(snapshot(world)).actions, want));
}

const publishedAs = (restartPolicy: "Never" | "OnFailure", state: ContainerState): Pod => ({
  ...pod({ restartPolicy }),
  status: { containerStatuses: [{ name: "app", image: "", imageID: "", ready: false, restartCount: 0, state }] },
});

const ends: readonly (readonly [string, Partial<PodSnapshot>, boolean])[] = [
  [
    "[7.10] an exited container completes the pod under Never",
    { ...never, view: view(ready, [instance("app", "exited", { exitCode: 1 })]) },
    true,
  ],
  [
    "[7.10] exit code 0 completes the pod under OnFailure",
    { ...onFailure, view: view(ready, [instance("app", "exited")]) },
    true,
  ],
  [
    "a pod with one running container does not complete under Never",
    {
      pod: pod({ restartPolicy: "Never", containers: [container("app"), container("b")] }),
      view: view(ready, [instance("app", "exited"), instance("b", "running")]),
    },
    false,
  ],
  [
    "[7.2] a pod that ran gets no second sandbox under Never",
    { ...never, view: view(dead, [instance("app", "exited")]) },
    true,
  ],
  [
    "[7.2] a pod whose containers succeeded gets no second sandbox under OnFailure",
    { ...onFailure, view: view(dead, [instance("app", "exited")]) },
    true,
  ],
  [
    "containers missing from the runtime do not run again under Never",
    { ...never, knownExits: new Map([["app", knownExit]]) },
    true,
  ],
  [
    "[27.4.3] a container published as running without an instance does not run again under Never",
    { pod: publishedAs("Never", { running: {} }), view: view(ready, []) },
    true,
  ],
  [
    "[27.4.3] a published success does not run again under OnFailure",
    { pod: publishedAs("OnFailure", { terminated: { exitCode: 0 } }), view: view(ready, []) },
    true,
  ],
  [
    "a container published as running without an instance runs again under OnFailure",
    { pod: publishedAs("OnFailure", { running: {} }), view: view(ready, []) },
    false,
  ],
  [
    "a crashed container in backoff does not complete the pod",
    {
      view: view(ready, [instance("app", "exited", { exitCode: 1 })]),
      backoffs: new Map([["app", { delayMs: 10_000, decidedWallMs: NOW_MS - 5_000 }]]),
    },
    false,
  ],
];
for (const [name, world, want] of ends) {
  test(name, () => assert.equal(computePodActions(snapshot(world)).completed, want));
}

test("[7.13] the second crash waits 10 s from the exit and reports the wait", () => {
  const backoffs = new Map([["app", { delayMs: 10_000, decidedWallMs: NOW_MS - 5_000 }]]);
  const crashed = view(ready, [instance("app", "exited", { exitCode: 1, finishedMs: NOW_MS - 4_000 })]);
  const plan = computePodActions(snapshot({ view: crashed, backoffs }));
  const wait = { leftMs: 6_000, delayMs: 10_000, dueWallMs: NOW_MS + 6_000, restartCount: 1, exitCode: 1 };
  assert.deepEqual([plan.actions, [...plan.backingOff]], [[], [["app", wait]]]);
});

test("a clock set back does not lengthen the backoff: the monotonic time since the exit counts", () => {
  const backoffs = new Map([["app", { delayMs: 10_000, decidedWallMs: NOW_MS - 5_000 }]]);
  const crashed = view(ready, [instance("app", "exited", { exitCode: 1, finishedMs: NOW_MS + 40_000 })]);
  const world = { view: crashed, backoffs, monotonicMs: 20_000, exitSeenMonotonicMs: new Map([["app-0", 9_000]]) };
  assert.deepEqual(computePodActions(snapshot(world)).actions, [
    start("app", 1, { finishedWallMs: NOW_MS + 40_000, ageMs: 11_000 }),
  ]);
});

test("a sandbox that is not ready does not complete a pod that will restart", () => {
  assert.equal(
    computePodActions(snapshot({ view: view(dead, [instance("app", "exited", { exitCode: 1 })]) })).completed,
    false,
  );
});

test("[13.1] containers wait for mounted volumes; the sandbox is created while volumes are being mounted, not while they wait", () => {
  const kinds = (world: Parameters<typeof snapshot>[0]) => {
    const { actions, awaitsVolumes } = computePodActions(snapshot(world));
    return [...actions.map(({ kind }) => kind), awaitsVolumes];
  };
  assert.deepEqual(kinds({ volumes: "waiting" }), ["makeRoom", true]);
  assert.deepEqual(kinds({ volumes: "mounting" }), ["makeRoom", "createSandbox", true]);
  assert.deepEqual(kinds({ volumes: "ready" }), ["makeRoom", "createSandbox", false]);
  for (const volumes of ["waiting", "mounting"] as const)
    assert.deepEqual(kinds({ view: view(ready, []), volumes }), [true]);
  assert.deepEqual(kinds({ view: view(ready, []), volumes: "ready" }), ["startContainer", false]);
});
