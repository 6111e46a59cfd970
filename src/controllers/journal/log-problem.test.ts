import assert from "node:assert/strict";
import { test } from "node:test";
import { logJournalProblem } from "./log-problem.ts";
import type { JournalProblem } from "./segments.ts";

function logged(problem: JournalProblem) {
  const lines: unknown[][] = [];
  logJournalProblem({ info: () => {}, error: (...line) => void lines.push(line) }, problem);
  return lines;
}

test("a failure is logged with the error that caused it", () => {
  const error = new Error("write failed", { cause: new Error("ENOSPC") });
  assert.deepEqual(logged({ kind: "failed", what: "sync the journal", error }), [
    ["Failed to sync the journal", error],
  ]);
});

test("damage is logged with its segment and its size", () => {
  const [[message, error, fields] = []] = logged({ kind: "tornTail", segment: "journal-00000001.log", bytes: 7 });
  assert.equal(message, "The journal was damaged");
  assert.match(String(error), /a crash cut a write short/);
  assert.deepEqual(fields, { segment: "journal-00000001.log", bytes: 7 });
});
