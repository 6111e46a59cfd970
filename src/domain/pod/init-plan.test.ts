import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { container, instance, pod, sandbox, snapshot, view } from "../../../test/support/pods.ts";
import type { PodSpec } from "../../api/gen/core-v1.ts";
import { FIRST_VERDICTS } from "../probes/verdicts.ts";
import { computePodActions, endEverything, type PodAction } from "./pod-actions.ts";
import type { PodSnapshot } from "./pod-snapshot.ts";
import type { PodContainer } from "./runtime-view.ts";

const sidecar = (name: string, more = {}) => container(name, { restartPolicy: "Always", ...more });
const twoAndApp: Partial<PodSpec> = { initContainers: [container("one"), container("two")] };
const meshed: Partial<PodSpec> = { initContainers: [sidecar("proxy"), container("one")] };

/** The plan in one line: what is started and stopped and which containers wait, or "completed". */
function planOf(spec: Partial<PodSpec>, containers: readonly PodContainer[], more: Partial<PodSnapshot> = {}): string {
  const plan = computePodActions(snapshot({ pod: pod(spec), view: view([sandbox()], containers), ...more }));
  if (plan.completed) return "completed";
  const waits = [...plan.backingOff.keys()].map((name) => `wait ${name}`);
  return [...plan.actions.map(inWords), ...waits].join(", ");
}

function inWords(action: PodAction): string {
  switch (action.kind) {
    case "startContainer":
      return `start ${action.name}#${action.restartCount}`;
    case "stopContainers":
      return `stop ${action.containers.map(({ id, after = [] }) => [id, ...after].join("<")).join("+")}`;
    case "postStart":
    case "startCreated":
      return `${action.kind} ${action.name}`;
    default:
      return action.kind;
  }
}

const ended = (name: string, exitCode = 0, more = {}) => instance(name, "exited", { exitCode, ...more });
const runs = (name: string, more = {}) => instance(name, "running", more);

void suite("init containers", () => {
  const rows: readonly (readonly [string, Partial<PodSpec>, readonly PodContainer[], string])[] = [
    ["[7.7] the first init container starts alone", twoAndApp, [], "start one#0"],
    ["[7.7] nothing else starts while an init container runs", twoAndApp, [runs("one")], ""],
    ["[7.7] the next init container starts after the previous one succeeded", twoAndApp, [ended("one")], "start two#0"],
    [
      "[7.7] regular containers start after the last init container succeeded",
      twoAndApp,
      [ended("one"), ended("two")],
      "start app#0",
    ],
    [
      "[7.7] an init container missing from the runtime does not run again after a later one succeeded",
      twoAndApp,
      [ended("two")],
      "start app#0",
    ],
    ["[7.7] init containers do not run again while regular containers run", twoAndApp, [runs("app")], ""],
    ["[7.7] a failed init container is retried", twoAndApp, [ended("one", 1)], "start one#1"],
    [
      "[7.7] a failed init container completes the pod under Never",
      { ...twoAndApp, restartPolicy: "Never" },
      [ended("one", 1)],
      "completed",
    ],
    [
      "[7.7] an OOMKilled init container counts as failed even with exit code 0",
      twoAndApp,
      [ended("one", 0, { reason: "OOMKilled" })],
      "start one#1",
    ],
    [
      "[7.3][7.7] init containers run again in a new sandbox",
      twoAndApp,
      [ended("one", 0, { sandboxId: "older" }), ended("app", 255, { sandboxId: "older" })],
      "start one#1",
    ],
    [
      "a created init container is started, not created again",
      twoAndApp,
      [instance("one", "created")],
      "startCreated one",
    ],
    ["an init container in an unknown state is stopped first", twoAndApp, [instance("one", "unknown")], "stop one-0"],
    [
      "an image change does not restart a running init container",
      { initContainers: [container("one", { image: "new" })] },
      [runs("one")],
      "",
    ],
  ];
  for (const [name, spec, containers, want] of rows) test(name, () => assert.equal(planOf(spec, containers), want));

  test("[7.13] a failed init container waits for its backoff", () => {
    const backoffs = new Map([["one", { delayMs: 10_000, decidedWallMs: snapshot().wallMs - 5_000 }]]);
    assert.equal(planOf(twoAndApp, [ended("one", 1)], { backoffs }), "wait one");
  });
});

void suite("sidecars", () => {
  const rows: readonly (readonly [string, Partial<PodSpec>, readonly PodContainer[], string])[] = [
    ["[7.8] a sidecar starts at its position among the init containers", meshed, [], "start proxy#0"],
    ["[7.8] the next init container starts once the sidecar runs", meshed, [runs("proxy")], "start one#0"],
    [
      "[7.8] regular containers start while the sidecar keeps running",
      meshed,
      [runs("proxy"), ended("one")],
      "start app#0",
    ],
    [
      "[7.8] an exited sidecar restarts under Never",
      { ...meshed, restartPolicy: "Never" },
      [ended("proxy"), ended("one"), runs("app")],
      "start proxy#1",
    ],
    [
      "[7.8] an exited sidecar restarts while a later init container runs",
      meshed,
      [ended("proxy", 1), runs("one")],
      "start proxy#1",
    ],
    [
      "[7.8] a running sidecar does not keep the pod from completing",
      { ...meshed, restartPolicy: "Never" },
      [runs("proxy"), ended("one"), ended("app")],
      "completed",
    ],
    [
      "[7.8] an exited sidecar does not keep the pod from completing",
      { ...meshed, restartPolicy: "OnFailure" },
      [ended("proxy", 1), ended("app")],
      "completed",
    ],
    [
      "[7.4][7.8] an image change stops a running sidecar",
      { initContainers: [sidecar("proxy", { image: "new" })] },
      [runs("proxy"), runs("app")],
      "stop proxy-0",
    ],
  ];
  for (const [name, spec, containers, want] of rows) test(name, () => assert.equal(planOf(spec, containers), want));

  test("[7.8] a sidecar's startup probe blocks the next init container, but not restarts of regular containers", () => {
    const probe = { startupProbe: { exec: { command: ["true"] } } };
    const slow = { initContainers: [sidecar("proxy", probe), container("one")] };
    assert.equal(planOf(slow, [runs("proxy")]), "");
    assert.equal(planOf(slow, [runs("proxy"), ended("app", 1)]), "start app#1");
    const verdicts = new Map([["proxy-0", { ...FIRST_VERDICTS, startup: "success" } as const]]);
    assert.equal(planOf(slow, [runs("proxy")], { verdicts }), "start one#0");
  });

  test("[12.7] a sidecar with a failed liveness probe is stopped", () => {
    const verdicts = new Map([["proxy-0", { ...FIRST_VERDICTS, liveness: "failure" } as const]]);
    assert.equal(planOf(meshed, [runs("proxy"), ended("one"), runs("app")], { verdicts }), "stop proxy-0");
  });

  test("[7.9] regular containers stop first, then sidecars in reverse order; init containers stop without waiting", () => {
    const spec = {
      initContainers: [sidecar("a"), container("i"), sidecar("b")],
      containers: [container("x"), container("y")],
    };
    const all = ["a", "i", "b", "x", "y"].map((name) => runs(name));
    const [first] = endEverything(view([sandbox()], all), pod(spec));
    const after = first?.kind === "stopContainers" ? first.containers : [];
    assert.deepEqual(Object.fromEntries(after.map((one) => [one.name, one.after ?? []])), {
      a: ["x-0", "y-0", "b-0"],
      i: [],
      b: ["x-0", "y-0"],
      x: [],
      y: [],
    });
  });

  test("[7.9] the containers of a pod without an object all stop at once", () => {
    const [first] = endEverything(view([sandbox()], [runs("a"), runs("x")]), undefined);
    assert.deepEqual(first?.kind === "stopContainers" && first.containers.map(({ after }) => after), [
      undefined,
      undefined,
    ]);
  });
});

void suite("postStart hooks", () => {
  const hooked = {
    containers: [container("a", { lifecycle: { postStart: { sleep: { seconds: 1 } } } }), container("b")],
  };
  const postStartDue = new Set(["a-0"]);
  test("[7.15] postStart hook blocks the next container", () => {
    assert.equal(planOf(hooked, []), "start a#0");
    assert.equal(planOf(hooked, [runs("a")], { postStartDue }), "postStart a");
    assert.equal(planOf(hooked, [runs("a")]), "start b#0");
  });

  test("[7.15] a postStart hook that is due runs before a sidecar restarts", () => {
    const served = { ...hooked, initContainers: [sidecar("proxy")] };
    assert.equal(planOf(served, [runs("a"), ended("proxy")], { postStartDue }), "postStart a");
    assert.equal(planOf(served, [runs("a"), ended("proxy")]), "start proxy#1, start b#0");
  });

  test("[7.15] containers before the one with a postStart hook start without waiting", () => {
    const later = { containers: [container("b"), ...hooked.containers.slice(0, 1), container("c")] };
    assert.equal(planOf(later, []), "start b#0, start a#0");
  });
});

void suite("ephemeral containers", () => {
  const debugged = { ephemeralContainers: [{ name: "debug", image: "busybox" }], restartPolicy: "Always" };
  test("[7.20] an ephemeral container starts when added, even while init containers run", () => {
    assert.equal(planOf(debugged, [runs("app")]), "start debug#0");
    assert.equal(planOf({ ...debugged, ...twoAndApp }, [runs("one")]), "start debug#0");
  });

  test("[7.20] an ephemeral container never restarts, even when only its exit is known", () => {
    assert.equal(planOf(debugged, [runs("app"), ended("debug", 1)]), "");
    const knownExits = new Map([
      ["debug", { containerId: "d", exitCode: 1, reason: "", startedWallNs: 1n, finishedWallNs: 2n, restartCount: 0 }],
    ]);
    assert.equal(planOf(debugged, [runs("app")], { knownExits }), "");
  });

  test("[7.20] a running ephemeral container does not keep the pod from completing", () => {
    assert.equal(planOf({ ...debugged, restartPolicy: "Never" }, [ended("app"), runs("debug")]), "completed");
  });
});
