import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeFailure, enumerateCrashPoints } from "./crash-points.ts";
import { play } from "./scenario.ts";
import { withImageGc } from "./with-image-gc.ts";

describe("[9.10] removal of images", () => {
  for (const scenario of withImageGc) {
    test(`${scenario.name}: no image that a pod needs is removed; the same seed gives the same trace`, async () => {
      const [first, second] = [await play(scenario), await play(scenario)];
      assert.deepEqual([first.violations, first.wrong], [[], []], first.lastLines.slice(-30).join("\n"));
      assert.equal(first.hash, second.hash);
    });

    test(`${scenario.name}: same result with the agent killed at sampled calls`, async () => {
      const { failures } = await enumerateCrashPoints(scenario, { stride: 11 });
      assert.deepEqual(failures.map(describeFailure), []);
    });
  }
});
