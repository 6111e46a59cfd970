import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeFailure, enumerateCrashPoints } from "./crash-points.ts";
import { play } from "./scenario.ts";
import { withStuckEnds } from "./with-stuck-ends.ts";

describe("pods whose termination is stuck", () => {
  for (const scenario of withStuckEnds) {
    test(`${scenario.name}: breaks no invariant and the pod is gone soon after; the same seed gives the same trace`, async () => {
      const [first, second] = [await play(scenario), await play(scenario)];
      assert.deepEqual([first.violations, first.wrong], [[], []], first.lastLines.slice(-30).join("\n"));
      assert.equal(first.hash, second.hash);
    });

    test(`${scenario.name}: same result with the agent killed at sampled calls`, async () => {
      const { failures } = await enumerateCrashPoints(scenario, { stride: 121 });
      assert.deepEqual(failures.map(describeFailure), []);
    });
  }
});
