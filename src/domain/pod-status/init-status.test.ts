/** Published status of pods with init containers, sidecars or ephemeral containers. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { container, instance, NOW_MS, pod, sandbox, view } from "../../../test/support/pods.ts";
import type { PodSpec, PodStatus } from "../../api/gen/core-v1.ts";
import type { PodContainer } from "../pod/runtime-view.ts";
import { type PodStatusInputs, podStatus } from "./pod-status.ts";

const ready = ({ state }: PodContainer) => ({ ready: state === "running", started: state === "running" });

function reported(
  spec: Partial<PodSpec>,
  containers: readonly PodContainer[],
  more: Partial<PodStatusInputs> = {},
): PodStatus {
  return podStatus({
    pod: pod(spec),
    view: view([sandbox()], containers),
    lifecycle: { kind: "running" },
    previous: { phase: "Pending" },
    runtimeName: "containerd",
    waiting: new Map(),
    messages: new Map(),
    recursiveReadOnly: true,
    ready,
    qosClass: "BestEffort",
    hostIps: [],
    firstSeenWallMs: NOW_MS,
    wallMs: NOW_MS,
    isStatic: false,
    ...more,
  });
}

const condition = ({ conditions }: PodStatus, type: string) => {
  const { status, reason, message } = conditions?.find((candidate) => candidate.type === type) ?? {};
  return [status, reason, message].filter((text) => text !== undefined).join(" ");
};
const sidecar = container("proxy", { restartPolicy: "Always" });
const init = { initContainers: [container("one"), container("two")] };
const runs = (name: string) => instance(name, "running");
const ended = (name: string, exitCode = 0) => instance(name, "exited", { exitCode });
const terminated = { kind: "terminated", why: { kind: "completed" } } as const;

void suite("phase", () => {
  const never = { ...init, restartPolicy: "Never" };
  const rows: readonly (readonly [string, string, Partial<PodSpec>, readonly PodContainer[]])[] = [
    ["[11.1] Pending while an init container runs", "Pending", init, [runs("one")]],
    [
      "[11.1] Pending after the init containers succeeded, before a regular container starts",
      "Pending",
      init,
      [ended("one"), ended("two")],
    ],
    ["[11.1] Running while the regular container runs", "Running", init, [ended("one"), ended("two"), runs("app")]],
    ["[11.1] Pending when a failed init container will be retried", "Pending", init, [ended("one", 1)]],
    ["[11.1] Pending while only the sidecar runs", "Pending", { initContainers: [sidecar] }, [runs("proxy")]],
    [
      "[11.1] Running while a sidecar has exited next to a running container",
      "Running",
      { initContainers: [sidecar] },
      [ended("proxy", 1), runs("app")],
    ],
    [
      "[11.1] Running while the regular container is between two runs next to its sidecar",
      "Running",
      { initContainers: [sidecar] },
      [runs("proxy"), ended("app", 1)],
    ],
    [
      "[11.1] Pending when an init container failed for good and the pod has not terminated yet",
      "Pending",
      never,
      [ended("one", 1)],
    ],
  ];
  for (const [name, want, spec, containers] of rows)
    test(name, () => assert.equal(reported(spec, containers).phase, want));

  test("[7.7][11.1] a failed init container fails the pod under Never", () => {
    assert.equal(reported(never, [ended("one", 1)], { lifecycle: terminated }).phase, "Failed");
  });

  test("[7.8][11.1] sidecar exit codes do not affect the terminal phase", () => {
    const meshed = { initContainers: [sidecar], restartPolicy: "Never" };
    assert.equal(reported(meshed, [ended("proxy", 137), ended("app")], { lifecycle: terminated }).phase, "Succeeded");
    assert.equal(reported(meshed, [ended("proxy"), ended("app", 1)], { lifecycle: terminated }).phase, "Failed");
  });

  test("[7.11] a pod whose container restarts by its own rule stays Running", () => {
    const rule = { action: "Restart", exitCodes: { operator: "In", values: [42] } };
    const ruled = container("app", { restartPolicy: "Never", restartPolicyRules: [rule] });
    assert.equal(reported({ containers: [ruled], restartPolicy: "Never" }, [ended("app", 42)]).phase, "Running");
  });
});

void suite("conditions", () => {
  test("[11.5] Initialized lists the incomplete init containers", () => {
    assert.equal(
      condition(reported(init, [ended("one"), runs("two")]), "Initialized"),
      "False ContainersNotInitialized containers with incomplete status: [two]",
    );
    assert.equal(
      condition(reported(init, []), "Initialized"),
      "False ContainersNotInitialized containers with incomplete status: [one two]",
    );
    assert.equal(condition(reported(init, [ended("one"), ended("two")]), "Initialized"), "True");
  });

  test("[11.5] Initialized stays True once set", () => {
    const previous = { phase: "Running", conditions: [{ type: "Initialized", status: "True" }] };
    assert.equal(condition(reported(init, [runs("one")], { previous }), "Initialized"), "True");
    assert.equal(
      condition(reported({ initContainers: [sidecar] }, [ended("proxy"), runs("app")]), "Initialized"),
      "True",
    );
  });

  test("[7.8][11.5] ContainersReady depends on sidecars and not on other init containers", () => {
    const spec = { initContainers: [sidecar, container("one")] };
    assert.equal(
      condition(reported(spec, [ended("proxy", 1), ended("one"), runs("app")]), "ContainersReady"),
      "False ContainersNotReady containers with unready status: [proxy]",
    );
    assert.equal(condition(reported(spec, [runs("proxy"), ended("one"), runs("app")]), "ContainersReady"), "True");
  });
});

void suite("container statuses", () => {
  const states = (status: PodStatus) =>
    [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(
      ({ name, ready: isReady, started, state }) => {
        const { waiting, running, terminated: over } = state ?? {};
        const word = running === undefined ? (waiting?.reason ?? over?.reason) : "running";
        return `${name} ${word}${isReady ? " ready" : ""}${started === true ? " started" : ""}`;
      },
    );

  test("[7.18] containers behind an init container wait with PodInitializing, in spec order", () => {
    assert.deepEqual(states(reported(init, [runs("one")])), [
      "one running started",
      "two PodInitializing",
      "app PodInitializing",
    ]);
    assert.deepEqual(states(reported(init, [ended("one"), ended("two"), runs("app")])), [
      "one Completed ready",
      "two Completed ready",
      "app running ready started",
    ]);
  });

  test("[7.7] an init container missing from the runtime is Completed once the regular container runs", () => {
    const [one] = reported(init, [runs("app")]).initContainerStatuses ?? [];
    assert.deepEqual(
      [one?.state?.terminated?.reason, one?.state?.terminated?.exitCode, one?.ready],
      ["Completed", 0, true],
    );
  });

  test("[7.18] a failed init container shows its waiting reason and its last exit code", () => {
    const waiting = new Map([["one", { reason: "CrashLoopBackOff", message: "back-off" }]]);
    const [one] = reported(init, [ended("one", 3)], { waiting }).initContainerStatuses ?? [];
    assert.deepEqual([one?.state?.waiting?.reason, one?.lastState?.terminated?.exitCode], ["CrashLoopBackOff", 3]);
  });

  test("[7.19] in a terminated pod unstarted containers stay PodInitializing; one that ran without a seen exit is ContainerStatusUnknown", () => {
    const previous = { phase: "Pending", initContainerStatuses: [] };
    const status = reported(init, [ended("one", 1)], { previous, lifecycle: terminated });
    assert.deepEqual(states(status), ["one Error", "two PodInitializing", "app PodInitializing"]);
    assert.deepEqual(states(reported(init, [runs("one")], { previous, lifecycle: terminated })), [
      "one ContainerStatusUnknown",
      "two PodInitializing",
      "app PodInitializing",
    ]);
  });

  test("[7.20][11.10] ephemeral containers have their own status list, sorted by name, and are never ready", () => {
    const spec = { ephemeralContainers: [{ name: "z" }, { name: "a" }] };
    const status = reported(spec, [runs("app"), runs("z")]);
    assert.deepEqual(
      status.ephemeralContainerStatuses?.map(({ name, ready: isReady, started }) => [name, isReady, started]),
      [
        ["a", false, undefined],
        ["z", false, undefined],
      ],
    );
    assert.equal(condition(status, "Ready"), "True");
  });
});
