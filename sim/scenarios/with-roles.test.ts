import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeFailure, enumerateCrashPoints } from "./crash-points.ts";
import { play } from "./scenario.ts";
import { withAdmission } from "./with-admission.ts";
import { withRoles } from "./with-roles.ts";

describe("pods with init containers, sidecars and hooks, and pods that need admission decisions", () => {
  for (const scenario of [...withRoles, ...withAdmission]) {
    test(`${scenario.name}: breaks no invariant and ends as expected; the same seed gives the same trace`, async () => {
      const [first, second] = [await play(scenario), await play(scenario)];
      assert.deepEqual([first.violations, first.wrong], [[], []], first.lastLines.slice(-30).join("\n"));
      assert.equal(first.hash, second.hash);
    });

    test(`${scenario.name}: same result with the agent killed at sampled calls`, async () => {
      const { failures } = await enumerateCrashPoints(scenario, { stride: 301 });
      assert.deepEqual(failures.map(describeFailure), []);
    });
  }
});
