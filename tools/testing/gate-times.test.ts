import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gateTimes, parseGateTimes, timesReport } from "./gate-times.ts";
import type { RunRecord } from "./run-record.ts";

const run: RunRecord = {
  suite: "integration",
  commit: "0123456789abcdef",
  dirty: false,
  startedAt: "2026-01-01T00:00:00Z",
  node: "v26",
  host: { cores: 2, memoryGiB: 24, kernel: "k", platform: "linux x64", load: 1.5, fixedWorkMs: 180 },
  seconds: 130,
  files: {},
  fileSeconds: { "slow.test.ts": 100, "quick.test.ts": 30 },
  tests: [
    { name: "one", file: "slow.test.ts", passed: true, seconds: 20 },
    { name: "two", file: "slow.test.ts", passed: true, seconds: 15 },
  ],
  figures: [],
};

describe("gateTimes", () => {
  test("joins the steps of .ci/run with the seconds of each file, and parses its own JSON", () => {
    const times = gateTimes([run], "check 20\nintegration 131\n");
    assert.deepEqual(times.steps, { check: 20, integration: 131 });
    assert.deepEqual(times.files, { "quick.test.ts": 30, "slow.test.ts": 100 });
    assert.deepEqual(parseGateTimes(JSON.stringify(times)), times);
  });

  test("the report lists the slowest file first, with seconds in tests, in hooks and in the committed record", () => {
    const times = gateTimes([run], "check 20\n");
    const lines = timesReport(times, [run], { ...times, files: { "slow.test.ts": 240 } }).split("\n");
    const cells = lines.filter((line) => line.includes(".test.ts")).map((line) => line.split(/ +/));
    assert.deepEqual(cells, [
      ["slow.test.ts", "100.0", "35.0", "65.0", "240.0"],
      ["quick.test.ts", "30.0", "0.0", "30.0", "-"],
    ]);
  });
});
