/**
 * The cost of the executable outside a guest, beside the Go kubelet: its size, the time until it listens, and its
 * memory. Small size: every measurement has a value. Whole size: the start must also reach its goal.
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { wholeSize } from "../size.ts";
import { type BenchReport, bench, missedGoals, tellFigures } from "../support/bench-report.ts";

const LIMIT_MS = (wholeSize() ? 60 : 5) * 60_000;

describe("the executable, measured", () => {
  let report: BenchReport;

  before(async () => {
    report = await bench(["B25"], LIMIT_MS);
  });

  test("size, startup time and memory are measured for Deckhand and the Go kubelet", () => {
    for (const name of ["start to healthz p50", "RSS after the start", "program on disk"]) {
      const row = report.table.find(({ benchmark, figure }) => benchmark === "B25" && figure === name);
      for (const subject of ["go", "deckhand"]) {
        const value = row?.values[subject]?.median ?? Number.NaN;
        assert.ok(value > 0, `${name} of ${subject}: ${value}`);
      }
    }
    tellFigures(report);
  });

  if (wholeSize()) test("B25 reaches its goal", () => assert.deepEqual(missedGoals(report, "B25"), []));
});
