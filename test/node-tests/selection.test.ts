import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { notRun } from "./selection.ts";

void suite("the count of a node test run", () => {
  test("names each selected test without an outcome, and no test that failed", () => {
    const tests = ["a", "b", "c"].map((name) => ({ name, file: "", labels: [] }));
    const outcomes = [
      { name: "a", passes: 1, fails: 0, seconds: 1 },
      { name: "c", passes: 0, fails: 1, seconds: 1, failure: "it left itself out: no swap" },
    ];
    assert.deepEqual(notRun(tests, outcomes), ["b"]);
  });
});
