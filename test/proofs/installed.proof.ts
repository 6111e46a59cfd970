/**
 * What the executable costs outside of a guest, beside the Go kubelet: its size, how long it takes to listen, and its memory. Small: figures come out. Whole: the goal of
 * the start is held too.
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

  test("its size, its start and its memory have a figure, and so have the Go kubelet's", () => {
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
