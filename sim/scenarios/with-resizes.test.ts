import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeFailure, enumerateCrashPoints } from "./crash-points.ts";
import { play } from "./scenario.ts";
import { withResizes } from "./with-resizes.ts";

describe("pods that are resized", () => {
  for (const scenario of withResizes) {
    test(`[8.1] [8.4] ${scenario.name}: breaks no invariant and ends as expected; the same seed gives the same trace`, async () => {
      const [first, second] = [await play(scenario), await play(scenario)];
      assert.deepEqual([first.violations, first.wrong], [[], []], first.lastLines.slice(-30).join("\n"));
      assert.equal(first.hash, second.hash);
    });

    test(`[8.1] [5.13] ${scenario.name}: same result with the agent killed at sampled calls`, async () => {
      const { failures } = await enumerateCrashPoints(scenario, { stride: 61 });
      assert.deepEqual(failures.map(describeFailure), []);
    });
  }
});
