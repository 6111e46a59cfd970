/** Explanations of a pod, from records as the agent writes them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ActionName, Decision } from "../journal/decisions.ts";
import { decisionRecord, type JournalRecord } from "../journal/records.ts";
import type { ContainerRole } from "../pod/containers.ts";
import type { TerminationStepName } from "../pod/ending.ts";
import { type Entry, toEntry } from "./entry.ts";
import { explain, nearNames } from "./explain.ts";
import { explanationText } from "./show.ts";

const NOON = Date.UTC(2026, 10, 16, 12, 0, 0);
const POD = "shop/web";
type Own<K extends JournalRecord["kind"]> = Omit<
  Extract<JournalRecord, { kind: K }>,
  "uid" | "pod" | "wallMs" | "kind"
>;

/** A time in seconds after noon. */
const at = (seconds: number, uid = "u1") => ({ uid, pod: POD, wallMs: NOON + seconds * 1000 });
const admitted = (seconds: number, uid?: string): Entry => ({ kind: "admitted", ...at(seconds, uid) });
const finished = (seconds: number, uid?: string): Entry => ({ kind: "finished", ...at(seconds, uid) });
const terminating = (seconds: number, why: string, graceSeconds = 30): Entry => ({
  kind: "terminating",
  ...at(seconds),
  why,
  graceSeconds,
});
const ending = (seconds: number, step: TerminationStepName, error: string): Entry => ({
  kind: "ending",
  ...at(seconds),
  step,
  state: "failed",
  attempts: 2,
  error,
});
const terminal = (seconds: number, phase: "Succeeded" | "Failed"): Entry => ({
  kind: "terminal",
  ...at(seconds),
  phase,
});
const decided = (seconds: number, decision: Decision): Entry => decisionRecord(at(seconds), decision);
const acted = (seconds: number, action: ActionName, more: Partial<Extract<Decision, { kind: "act" }>> = {}): Entry =>
  decided(seconds, { kind: "act", action, why: "{}", probeStops: [], ...more });
const reported = (seconds: number, on: string, reason: string, why: string, times = 1): Entry => ({
  kind: "told",
  ...at(seconds),
  on: on === "" ? "" : `spec.containers{${on}}`,
  reason,
  why,
  times,
});
const ofNode = (seconds: number, reason: string, why: string): Entry => ({
  kind: "told",
  ...at(seconds),
  uid: "",
  pod: "",
  on: "runtime",
  reason,
  why,
  times: 1,
});
const started = (seconds: number, container = "app"): Entry =>
  reported(seconds, container, "Started", "Container started");
const exited = (from: number, to: number, own: Partial<Own<"exited">> = {}): Entry => ({
  kind: "exited",
  ...at(to),
  container: "app",
  containerId: `c${to}`,
  exitCode: 1,
  reason: "Error",
  startedWallNs: `${NOON + from * 1000}000000`,
  finishedWallNs: `${NOON + to * 1000}000000`,
  restartCount: 0,
  ...own,
});
const restarting = (seconds: number, delayMs: number): Entry => ({
  kind: "restarting",
  ...at(seconds),
  container: "app",
  what: "app",
  delayMs,
});
const admit = (...parts: readonly (readonly [ContainerRole, string])[]): Entry =>
  decided(0, { kind: "admit", containers: parts.map(([role, name]) => ({ role, name })) });
const startContainer = (seconds: number, container = "app"): Entry => acted(seconds, "startContainer", { container });

const sentenceAt = (seconds: number, ...entries: readonly Entry[]): string =>
  explain(entries, { pod: POD, nowWallMs: NOON + seconds * 1000 })?.sentence ?? assert.fail("it is known");

const NOT_FOUND = 'Failed to pull image "r.io/x:nope": rpc error: code = NotFound desc = r.io/x:nope: not found';
const UNHEALTHY = "Readiness probe failed: HTTP probe failed with statuscode: 500";

describe("the sentence of an explanation", () => {
  for (const [name, nowSeconds, entries, wanted] of [
    [
      "gives the pull error and the next attempt while that is known",
      25,
      [admitted(0), startContainer(1), reported(11, "app", "Failed", NOT_FOUND, 2)],
      'The container "app" cannot start: its image r.io/x:nope cannot be pulled: not found (tried 2 times, next try at 12:00:31).',
    ],
    [
      "gives the pull error and the last failure after the known attempts",
      4000,
      [admitted(0), startContainer(1), reported(11, "app", "Failed", NOT_FOUND, 8)],
      'The container "app" cannot start: its image r.io/x:nope cannot be pulled: not found (tried at least 8 times, last seen at 12:00:11).',
    ],
    [
      "names the container whose image is being pulled",
      60,
      [admitted(0), startContainer(1), reported(1, "app", "Pulling", 'Pulling image "x"')],
      'The container "app" waits for its image, which is being pulled since 12:00:01.',
    ],
    [
      "drops a pull error once the container started",
      60,
      [
        admitted(0),
        startContainer(1),
        reported(2, "app", "Failed", NOT_FOUND),
        reported(20, "app", "Pulled", "Successfully pulled"),
        started(21),
      ],
      "The pod runs since 12:00:21, with its container started.",
    ],
    [
      "quotes the runtime's error when it refuses to start a container",
      20,
      [admitted(0), startContainer(1), reported(2, "app", "Failed", 'Error: exec: "nope": not found', 4)],
      'The container "app" cannot start: exec: "nope": not found (at least 4 times since 12:00:02).',
    ],
    [
      "quotes the error of a sandbox that cannot be created",
      20,
      [
        admitted(0),
        acted(0, "createSandbox"),
        reported(
          1,
          "",
          "FailedCreatePodSandBox",
          "Failed to create pod sandbox: rpc error: code = Unknown desc = no CNI",
        ),
      ],
      "The pod's sandbox cannot be created: no CNI (at 12:00:01).",
    ],
    [
      "says since when the sandbox is being created",
      20,
      [admitted(0), acted(3, "createSandbox")],
      "The pod's sandbox is being created since 12:00:03.",
    ],
    [
      "quotes the error of a volume that cannot be mounted",
      20,
      [
        admitted(0),
        reported(1, "", "FailedMount", 'MountVolume.SetUp failed for volume "v" : secret "s" not found', 4),
      ],
      'The pod\'s volumes cannot be mounted: MountVolume.SetUp failed for volume "v" : secret "s" not found (at least 4 times since 12:00:01).',
    ],
    [
      "says that a pod was admitted when nothing followed",
      1,
      [admitted(0)],
      "The pod was admitted and is being set up.",
    ],
    [
      "names the pod network while it is not ready",
      20,
      [admitted(0), reported(1, "", "NetworkNotReady", "network is not ready: cni config uninitialized", 16)],
      "The pod waits for the network of this node's pods: network is not ready: cni config uninitialized (at least 16 times since 12:00:01).",
    ],
    [
      "drops the pod network once the container started",
      20,
      [
        admitted(0),
        reported(1, "", "NetworkNotReady", "network is not ready", 16),
        acted(9, "createSandbox"),
        startContainer(10),
        started(11),
      ],
      "The pod runs since 12:00:11, with its container started.",
    ],
    [
      "gives a crashed container's exit code, count and next start",
      30,
      [
        admitted(0),
        started(1),
        exited(1, 5),
        restarting(5, 10_000),
        started(5),
        exited(5, 25, { restartCount: 1, exitCode: 2 }),
      ],
      'The container "app" keeps ending: it ended with exit code 2 (Error), 2 times so far; it is started again at 12:00:35.',
    ],
    [
      "gives the last exit of a container that runs again",
      30,
      [admitted(0), started(1), exited(1, 5), restarting(5, 10_000), started(5)],
      'The container "app" runs since 12:00:05, again: its last run ended with exit code 1 (Error).',
    ],
    [
      "drops an exit that is an hour old",
      3600,
      [admitted(0), started(1), exited(1, 5), restarting(5, 10_000), started(5)],
      "The pod runs since 12:00:05, with its container started.",
    ],
    [
      "says OOMKilled for a container killed for lack of memory",
      30,
      [admitted(0), started(1), exited(1, 5, { exitCode: 137, reason: "OOMKilled" }), restarting(5, 10_000)],
      'The container "app" keeps ending: it was killed for lack of memory (OOMKilled, exit code 137).',
    ],
    [
      "names the failed liveness probe that stopped the last run",
      20,
      [
        admitted(0),
        started(1),
        reported(3, "app", "Unhealthy", "Liveness probe failed: no answer", 2),
        acted(5, "stopContainers", { probeStops: [{ container: "app", probe: "liveness" }] }),
        exited(1, 6, { exitCode: 143 }),
        restarting(6, 10_000),
        started(7),
      ],
      'The container "app" runs since 12:00:07, again: its last run was stopped because its liveness probe failed: no answer (exit code 143).',
    ],
    [
      "names a readiness probe that has failed since the start",
      20,
      [admitted(0), started(1), reported(3, "app", "Unhealthy", UNHEALTHY, 8)],
      `The container "app" runs since 12:00:01 but is not ready: ${UNHEALTHY} (at least 8 times since 12:00:03).`,
    ],
    [
      "drops a readiness failure once the probe succeeds",
      20,
      [admitted(0), started(1), reported(3, "app", "Unhealthy", UNHEALTHY), probed(4, "success")],
      "The pod runs since 12:00:01, with its container started.",
    ],
    [
      "names a readiness probe that fails after it had succeeded",
      90,
      [
        admitted(0),
        started(1),
        probed(4, "success"),
        reported(60, "app", "Unhealthy", UNHEALTHY, 2),
        probed(62, "failure"),
      ],
      `The container "app" runs since 12:00:01 but is not ready: ${UNHEALTHY} (at least 2 times since 12:01:00).`,
    ],
    [
      "names the postStart hook that runs",
      20,
      [admitted(0), hook(1, "postStartDue"), started(1)],
      'The container "app" waits for its postStart hook, which runs since 12:00:01.',
    ],
    [
      "names the postStart hook that failed",
      20,
      [admitted(0), started(1), reported(3, "app", "FailedPostStartHook", "PostStartHook failed")],
      'The container "app" was stopped because its postStart hook failed (at 12:00:03).',
    ],
    [
      "keeps a failed postStart hook while the next run ends too",
      20,
      [
        admitted(0),
        started(1),
        reported(3, "app", "FailedPostStartHook", "PostStartHook failed"),
        exited(1, 4, { exitCode: 0 }),
        hook(5, "postStartDue"),
        started(5),
        exited(5, 6, { restartCount: 1 }),
      ],
      'The container "app" was stopped because its postStart hook failed (at 12:00:03).',
    ],
    [
      "drops a failed postStart hook once it succeeds in a later run",
      3600,
      [
        admitted(0),
        started(1),
        reported(3, "app", "FailedPostStartHook", "PostStartHook failed"),
        exited(1, 4, { exitCode: 0 }),
        hook(5, "postStartDue"),
        started(5),
        hook(6, "postStartDone"),
      ],
      "The pod runs since 12:00:05, with its container started.",
    ],
    [
      "keeps a readiness failure of the previous run until the probe succeeds",
      3600,
      [admitted(0), started(1), reported(3, "app", "Unhealthy", UNHEALTHY, 8), exited(1, 9), started(10)],
      `The container "app" runs since 12:00:10 but is not ready: ${UNHEALTHY} (at least 8 times since 12:00:03).`,
    ],
    [
      "names the init container that runs while the others wait",
      20,
      [admit(["init", "setup"], ["regular", "app"]), admitted(0), started(1, "setup")],
      'The init container "setup" runs since 12:00:01 and has not ended yet; the others wait for it.',
    ],
    [
      "gives the position of an init container among several",
      20,
      [
        admit(["init", "a"], ["init", "b"], ["regular", "app"]),
        admitted(0),
        exited(1, 2, { container: "a", exitCode: 0, reason: "Completed" }),
        reported(3, "b", "Failed", NOT_FOUND),
      ],
      'The init container "b" (2 of 2) cannot start: its image r.io/x:nope cannot be pulled: not found (tried at least once, last seen at 12:00:03).',
    ],
    [
      "names a sidecar whose startup probe fails",
      20,
      [
        admit(["sidecar", "proxy"], ["regular", "app"]),
        admitted(0),
        started(1, "proxy"),
        reported(2, "proxy", "Unhealthy", "Startup probe failed: no", 4),
      ],
      'The sidecar "proxy" runs since 12:00:01 but has not started up: Startup probe failed: no (at least 4 times since 12:00:02).',
    ],
    [
      "gives the reason and message of a rejection",
      20,
      [{ kind: "rejected", ...at(1), reason: "OutOfcpu", message: "Node didn't have enough resource: cpu" }],
      "This node rejected the pod at 12:00:01: OutOfcpu: Node didn't have enough resource: cpu.",
    ],
    [
      "gives the reason of a deferred admission",
      20,
      [decided(1, { kind: "defer", why: "WaitingForRuntimeClass: no class gvisor" })],
      "The pod waits for admission since 12:00:01: WaitingForRuntimeClass: no class gvisor.",
    ],
    [
      "gives DeadlineExceeded as the cause of a termination",
      40,
      [admitted(0), started(1), terminating(30, "failed DeadlineExceeded: too long"), terminal(31, "Failed")],
      "The pod was terminated at 12:00:31: DeadlineExceeded: too long.",
    ],
    [
      "gives the pod for which a preempted pod was terminated",
      40,
      [
        admitted(0),
        decided(30, { kind: "preempt", why: "a/b is critical and finds too little cpu" }),
        terminating(30, "failed Preempting: Preempted in order to admit critical pod"),
        terminal(31, "Failed"),
        finished(32),
      ],
      "The pod was terminated at 12:00:31: Preempting: Preempted in order to admit critical pod (a/b is critical and finds too little cpu); nothing of it is left on this node since 12:00:32.",
    ],
    [
      "gives the message of an eviction and the grace period",
      40,
      [admitted(0), started(1), terminating(30, "failed Evicted: The node was low on resource: memory.")],
      "The pod is terminating: Evicted: The node was low on resource: memory, at 12:00:30 with a grace period of 30 seconds.",
    ],
    [
      "says that a pod completed with the phase Succeeded",
      40,
      [admitted(0), started(1), exited(1, 9, { exitCode: 0 }), terminating(9, "completed"), terminal(9, "Succeeded")],
      "The pod completed at 12:00:09: Succeeded.",
    ],
    [
      "names the container whose exit code made the pod fail",
      40,
      [admitted(0), started(1), exited(1, 9, { exitCode: 4 }), terminating(9, "completed"), terminal(9, "Failed")],
      'The pod failed at 12:00:09: the container "app" ended with exit code 4 (Error).',
    ],
    [
      "names the container whose preStop hook runs",
      40,
      [admitted(0), started(1), terminating(30, "deleted"), decided(30, { kind: "runPreStop", container: "app" })],
      'The pod is terminating and the container "app" waits for its preStop hook, which runs since 12:00:30; its deletion was requested, at 12:00:30 with a grace period of 30 seconds.',
    ],
    [
      "names the step that blocks a termination, with its error",
      90,
      [admitted(0), started(1), terminating(30, "deleted", 1), ending(61, "containers", "no shim")],
      "The pod cannot be terminated: step 2/8 stop containers: no shim (since 12:01:01); its deletion was requested, at 12:00:30 with a grace period of 1 second.",
    ],
    [
      "names the step that blocks the cleanup of a terminated pod",
      90,
      [admitted(0), terminating(30, "deleted"), terminal(31, "Succeeded"), ending(32, "volumes", "data: busy")],
      "The pod was terminated at 12:00:31: its deletion was requested, and cannot be cleaned up: step 4/8 unmount: data: busy (since 12:00:32).",
    ],
    [
      "says that the runtime is not ready for a pod admitted later",
      20,
      [ofNode(-60, "RuntimeNotReady", "container runtime is down"), admitted(0)],
      "The pod cannot be started: the container runtime of this node is not well: container runtime is down (since 11:59:00).",
    ],
    [
      "says that the runtime is not ready while the container runs",
      90,
      [admitted(0), started(1), ofNode(60, "RuntimeNotReady", "container runtime is down")],
      "The pod runs since 12:00:01, with its container started, but the container runtime of this node is not well: container runtime is down (since 12:01:00).",
    ],
    [
      "drops a runtime failure once the runtime is ready",
      90,
      [
        admitted(0),
        started(1),
        ofNode(60, "RuntimeNotReady", "container runtime is down"),
        reported(61, "", "FailedSync", "no answer"),
        ofNode(70, "RuntimeReady", ""),
        reported(71, "", "Resumed", ""),
      ],
      "The pod runs since 12:00:01, with its container started.",
    ],
    [
      "gives the date of a time that is not today",
      90_000,
      [admitted(0), started(1)],
      "The pod runs since 2026-11-16 12:00:01, with its container started.",
    ],
  ] as const) {
    test(name, () => assert.equal(sentenceAt(nowSeconds, ...entries), wanted));
  }
});

function probed(seconds: number, readiness: "success" | "failure"): Entry {
  const said = { container: "app", containerId: "c", startup: "unknown", liveness: "unknown" } as const;
  return { kind: "probed", ...at(seconds), ...said, readiness };
}

function hook(seconds: number, step: "postStartDue" | "postStartDone"): Entry {
  return { kind: "hook", ...at(seconds), container: "app", containerId: "c", hook: step };
}

test("the timeline has one line per event with durations, folds repeats, and shows unknown kinds by name", () => {
  const unknown = toEntry({ kind: "dreamt", ...at(3), cpu: "1" });
  const entries: readonly Entry[] = [
    admit(["regular", "app"]),
    admitted(0),
    acted(1, "createSandbox"),
    startContainer(2),
    ...(unknown === undefined ? [] : [unknown]),
    reported(
      3,
      "app",
      "Pulled",
      'Successfully pulled image "x" in 1.2s (1.5s including waiting). Image size: 5 bytes.',
    ),
    started(4),
    exited(4, 9),
    restarting(9, 10_000),
    startContainer(10),
    started(10),
    exited(10, 21, { restartCount: 1 }),
    exited(10, 21, { restartCount: 1 }),
    reported(30, "app", "Unhealthy", `${UNHEALTHY}: ${"far too long a text for one line ".repeat(4)}`, 64),
  ];
  const explanation = explain(entries, { pod: POD, nowWallMs: NOON + 40_000 }) ?? assert.fail("it is known");
  assert.equal(
    explanationText(explanation, NOON + 40_000),
    `Pod shop/web, UID u1, as this node knows it at 12:00:40 UTC:

The container "app" keeps ending: it ended with exit code 1 (Error), 2 times so far.

12:00:00  admitted by this node
12:00:01  sandbox requested
12:00:02  sandbox created, 1.0 s
12:00:03  dreamt (a record that this version does not know)
12:00:03  app: image pulled: x, 1.5 s
12:00:04  app: started, 2.0 s (2 times, last at 12:00:10)
12:00:09  app: ended with exit code 1 (Error), 5.0 s (2 times, last at 12:00:21)
12:00:30  app: Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 500: far too long a text for one
          line far too long a text for one line far too long a text for one line far too long a text for one line  (64
          times, last at 12:00:30)
`,
  );
});

test("explains the newest of several pods of a name, lists the earlier ones, and selects any by UID", () => {
  const entries = [admitted(0, "old"), finished(10, "old"), admitted(20, "new"), admitted(30, "static")];
  const asked = (uid?: string) => explain(entries, { pod: POD, uid, nowWallMs: NOON + 60_000 });
  assert.deepEqual([asked()?.uid, asked()?.earlier.map(({ uid }) => uid)], ["static", ["new", "old"]]);
  assert.deepEqual([asked("old")?.uid, asked("old")?.earlier], ["old", []]);
  assert.equal(asked("nobody"), undefined);
  const again = [...entries, finished(40, "static"), admitted(50, "static")];
  assert.deepEqual(
    explain(again, { pod: POD, nowWallMs: NOON })?.earlier.map(({ uid }) => uid),
    ["static", "new", "old"],
    "a static pod that came back under its UID",
  );
});

test("nearNames returns the known pods with a similar name", () => {
  const known = ["shop/web-7f", "shop/web", "other/web", "shop/cart", "shop/wep", ""].map(
    (pod): Entry => ({ kind: "admitted", uid: "u", pod, wallMs: 0 }),
  );
  assert.deepEqual(nearNames(known, "shop/web", 9), ["other/web", "shop/web", "shop/web-7f", "shop/wep"]);
  assert.deepEqual(nearNames(known, "shop/crat", 9), ["shop/cart"]);
  assert.deepEqual(nearNames(known, "shop/absent", 9), []);
});

test("toEntry returns undefined for a value that is no record of a pod", () => {
  for (const value of [undefined, 7, null, {}, { kind: "new" }, { kind: "x", uid: "u", pod: 1, wallMs: 1 }]) {
    assert.equal(toEntry(value), undefined);
  }
});

test("explanationText escapes control characters in texts from containers", () => {
  const explanation = {
    pod: "shop/web\u001b[2J",
    uid: "u1",
    sentence: "It printed \u001b]0;title\u0007 and \u202e\u2028 and \u009b1A.",
    timeline: [{ wallMs: NOON, what: "said \u001b[31mred\r", durationMs: undefined, times: 1, lastWallMs: NOON }],
    earlier: [{ uid: "u0", fromWallMs: NOON, toWallMs: NOON, sentence: "\u0008\u007f" }],
  };
  const text = explanationText(explanation, NOON);
  assert.doesNotMatch(text.replaceAll("\n", ""), /[\p{Cc}\p{Cf}\u2028\u2029]/u);
  assert.match(text, /It printed \\u001b\]0;title\\u0007 and \\u202e\\u2028 and \\u009b1A\./);
});

test("nearNames compares no name with one whose length alone makes it too different", () => {
  const known = Array.from({ length: 100_000 }, (_, index) => ({
    kind: "admitted" as const,
    uid: `u${index}`,
    pod: `shop/web-${index}`,
    wallMs: 0,
  }));
  // Comparing them would take minutes, and the file's time limit would fail it.
  assert.deepEqual(nearNames(known, `shop/${"x".repeat(8_000)}`, 5), []);
});
