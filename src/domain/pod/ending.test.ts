import assert from "node:assert/strict";
import { test } from "node:test";
import {
  afterReport,
  type Ending,
  endRetryMs,
  isNews,
  judgeTermination,
  TERMINATION_STEPS,
  type TerminationReport,
} from "./ending.ts";

const report = (more: Partial<TerminationReport>): TerminationReport => ({
  pod: "ns/p",
  step: "containers",
  attempts: 1,
  error: undefined,
  nextTryMonotonicMs: undefined,
  graceEndsMonotonicMs: 10_000,
  ...more,
});

const reported = (nowMs: number, ...reports: readonly Partial<TerminationReport>[]): Ending => {
  let ending: Ending | undefined;
  for (const each of reports) ending = afterReport(ending, report(each), nowMs);
  return ending ?? afterReport(undefined, report({}), nowMs);
};

test("a report of a step marks the earlier steps done, with their attempts", () => {
  const ending = reported(5, { step: "hooks" }, { step: "containers", attempts: 3, error: "no" }, { step: "volumes" });
  assert.equal(ending.current, "volumes");
  assert.deepEqual(
    [...ending.steps],
    [
      ["hooks", { kind: "done", attempts: 1 }],
      ["containers", { kind: "done", attempts: 3 }],
      ["volumes", { kind: "begun", attempts: 1, sinceMonotonicMs: 5 }],
    ],
  );
});

test("a failed step has its error and next retry; only a new error or step is news", () => {
  const first = reported(5, { error: "no", nextTryMonotonicMs: 9 });
  assert.deepEqual(first.steps.get("containers"), { kind: "failed", attempts: 1, error: "no", nextTryMonotonicMs: 9 });
  const again = afterReport(first, report({ attempts: 2, error: "no", nextTryMonotonicMs: 12 }), 10);
  assert.equal(isNews(first, again), false);
  assert.equal(isNews(again, afterReport(again, report({ attempts: 3, error: "still no" }), 12)), true);
  assert.equal(isNews(undefined, first), true);
  assert.equal(isNews(first, afterReport(first, report({ step: "sandbox" }), 12)), true);
});

test("termination counts as blocked some seconds after the grace period, with the last failed step and its error", () => {
  const failed = reported(5, { step: "volumes", error: "data: busy\n  Held by pid 7 (bash)\n" });
  assert.deepEqual(judgeTermination(failed, 16_000), { kind: "onItsWay", lookInMs: 1_000 });
  assert.deepEqual(judgeTermination(failed, 17_000), {
    kind: "blocked",
    by: { reason: "UnmountVolumes", message: "step 4/8 unmount: data: busy; Held by pid 7 (bash)" },
  });
});

test("a step that began late gets 2 s before it counts as blocked; status and object steps never do", () => {
  const begun = reported(30_000, { step: "sandbox" });
  assert.deepEqual(judgeTermination(begun, 31_000), { kind: "onItsWay", lookInMs: 1_000 });
  assert.equal(judgeTermination(begun, 32_000).kind, "blocked");
  for (const step of ["status", "object"] as const) {
    assert.deepEqual(judgeTermination(reported(0, { step }), 99_000), { kind: "onItsWay", lookInMs: undefined });
  }
});

test("each termination step has its own condition reason", () => {
  const reasons = TERMINATION_STEPS.map((step) => {
    const verdict = judgeTermination(reported(0, { step, error: "no" }), 99_000);
    return verdict.kind === "blocked" ? verdict.by.reason : "";
  });
  assert.equal(new Set(reasons).size, TERMINATION_STEPS.length);
  for (const reason of reasons) assert.match(reason, /^[A-Z][A-Za-z]+$/);
});

test("termination retries back off from 500 ms to at most 2.5 s", () => {
  assert.deepEqual([1, 2, 3, 4, 9, 400].map(endRetryMs), [500, 1_000, 2_000, 2_500, 2_500, 2_500]);
});
