import assert from "node:assert/strict";
import { test } from "node:test";
import { actionDecision } from "../pod/action-decision.ts";
import type { PodAction } from "../pod/pod-actions.ts";
import { type Decision, isDecision, upgradeDecision } from "./decisions.ts";
import { parseJournalRecord } from "./parse-record.ts";
import { decisionRecord } from "./records.ts";

const PROBE_STOP = { id: "c1", name: "app", reason: { kind: "probeFailed", probe: "liveness" } } as const;
const OTHER_STOP = { id: "c2", name: "log", reason: { kind: "superseded" } } as const;
const STOPS = { kind: "stopContainers", containers: [PROBE_STOP, OTHER_STOP] } as const;
const START = { kind: "startContainer", name: "app", restartCount: 1, after: undefined } as const;
const SANDBOX = { kind: "createSandbox", attempt: 0, replaces: "none" };

/** Records as commit b656062 wrote them: the name, the text, and the decision that they stand for. */
const VERSION_1: readonly (readonly [what: string, why: string, decision: Decision | undefined])[] = [
  ["start agent", "", { kind: "startAgent" }],
  [
    "admit",
    '[["init","setup"],["regular","app"]]',
    {
      kind: "admit",
      containers: [
        { role: "init", name: "setup" },
        { role: "regular", name: "app" },
      ],
    },
  ],
  ["defer", "WaitingForNode: not ready", { kind: "defer", why: "WaitingForNode: not ready" }],
  ["deferResize", "Deferred: no CPU", { kind: "deferResize", why: "Deferred: no CPU" }],
  ["preempt", "a/b is critical", { kind: "preempt", why: "a/b is critical" }],
  ["preStop", '{"name":"app"}', { kind: "runPreStop", container: "app" }],
  ["preStop", "", undefined],
  [
    "startContainer",
    '{"name":"app","restartCount":1}',
    { kind: "act", action: "startContainer", why: '{"name":"app","restartCount":1}', container: "app", probeStops: [] },
  ],
  [
    "stopContainers",
    JSON.stringify({ containers: STOPS.containers }),
    {
      kind: "act",
      action: "stopContainers",
      why: JSON.stringify({ containers: STOPS.containers }),
      probeStops: [{ container: "app", probe: "liveness" }],
    },
  ],
  [
    "stopContainers",
    "the pod was deleted",
    { kind: "act", action: "stopContainers", why: "the pod was deleted", probeStops: [] },
  ],
  ["of a later version", "", undefined],
];

for (const [what, why, decision] of VERSION_1) {
  test(`version 1: ${what} ${why}`, () => {
    assert.deepEqual(upgradeDecision(what, why), decision);
    const record = { kind: "decision", uid: "u", pod: "a/b", wallMs: 1, what, why };
    const named = { uid: "u", pod: "a/b", wallMs: 1 };
    assert.deepEqual(parseJournalRecord(record), decision === undefined ? undefined : decisionRecord(named, decision));
  });
}

test("an action's decision equals the one upgraded from its version 1 record", () => {
  for (const action of [STOPS, START, SANDBOX as PodAction, { kind: "postStart", name: "app", id: "c1" } as const]) {
    const { kind, ...details } = action;
    const decision = actionDecision(action, undefined);
    assert.ok(isDecision(JSON.parse(JSON.stringify(decision))), kind);
    assert.deepEqual(decision, upgradeDecision(kind, JSON.stringify(details)));
  }
});

test("an action of a terminating pod names its container and the failed probe, which version 1 did not", () => {
  assert.deepEqual(actionDecision(STOPS, "the pod was deleted"), {
    kind: "act",
    action: "stopContainers",
    why: "the pod was deleted",
    probeStops: [{ container: "app", probe: "liveness" }],
  });
});

test("a damaged decision and one of a later version are refused", () => {
  const act = { kind: "act", action: "postStart", why: "{}", probeStops: [] };
  assert.ok(isDecision(act));
  for (const value of [
    undefined,
    "act",
    { kind: "laterKind" },
    { kind: "defer" },
    { kind: "admit", containers: [{ role: "captain", name: "a" }] },
    { kind: "runPreStop" },
    { ...act, action: "laterAction" },
    { ...act, container: 1 },
    { ...act, probeStops: [{ container: "a", probe: "readiness" }] },
  ]) {
    assert.equal(isDecision(value), false, JSON.stringify(value));
  }
  const later = { kind: "decision", uid: "u", pod: "a/b", wallMs: 1, version: 3, decision: { kind: "startAgent" } };
  assert.equal(parseJournalRecord(later), undefined);
});

test("an eviction is a decision with its table; one whose table is damaged is none", () => {
  const candidate = { pod: "a/b", uid: "u", priority: 0, request: "0", exceedsRequest: false, evictable: true };
  const measured = { available: "1", capacity: "9", threshold: "2", computed: "statfs" };
  const whole = { kind: "evict", signal: "nodefs.available", why: "low", measured, candidates: [candidate] };
  assert.ok(isDecision(whole));
  assert.ok(isDecision({ ...whole, measured: undefined, candidates: [] }));
  assert.ok(!isDecision({ ...whole, measured: { ...measured, threshold: 2 } }));
  assert.ok(!isDecision({ ...whole, candidates: [{ ...candidate, usage: 7 }] }));
});
