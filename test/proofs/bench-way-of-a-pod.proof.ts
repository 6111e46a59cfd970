/**
 * Benchmarks of the pod lifecycle. Small size: every benchmark has a value for every subject, and both agents show the
 * same lifecycle. Whole size: the ratios to the Go kubelet, each against its goal. A missed goal fails its test and is
 * in the report all the same.
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { wholeSize } from "../size.ts";
import { type BenchReport, bench, missedGoals, tellFigures } from "../support/bench-report.ts";

const BENCHMARKS = ["B1", "B4", "B5", "B6", "B7", "B9", "B10", "B11", "B13", "B18"];
const ONLY_AGENTS = ["B9", "B10", "B11", "B18"];
const LIMIT_MS = (wholeSize() ? 12 * 60 : 15) * 60_000;

describe("bench", () => {
  let report: BenchReport;

  before(async () => {
    report = await bench(BENCHMARKS, LIMIT_MS);
  });

  test("every benchmark has a value for every subject it applies to", () => {
    for (const id of BENCHMARKS) {
      const [row] = report.table.filter(({ benchmark, goal }) => benchmark === id && goal !== undefined);
      assert.ok(row !== undefined, `${id} has no figure with a goal`);
      for (const subject of ONLY_AGENTS.includes(id) ? ["go", "deckhand"] : ["bare", "go", "deckhand"]) {
        const value: number = row.values[subject]?.median ?? Number.NaN;
        assert.ok(value > 0 || (id === "B9" && value === 0), `${id} of ${subject}: ${value}`);
      }
    }
    tellFigures(report);
  });

  test("the pod lifecycle looks the same under either agent", () => {
    assert.deepEqual(report.differences, []);
  });

  if (wholeSize()) {
    for (const id of BENCHMARKS) {
      test(`${id} reaches its goal`, () => {
        assert.deepEqual(missedGoals(report, id), []);
      });
    }
  }
});
