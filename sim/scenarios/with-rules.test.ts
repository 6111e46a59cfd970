import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { kubeletWith } from "../kubelet.ts";
import { play } from "./scenario.ts";
import { withRules } from "./with-rules.ts";

describe("scenarios for single rules", () => {
  for (const { flags = [], ...scenario } of withRules) {
    test(`${scenario.name}: no rule is broken`, async () => {
      const { violations, wrong, lastLines } = await play(scenario, { agent: kubeletWith(...flags) });
      assert.deepEqual([violations, wrong], [[], []], lastLines.slice(-30).join("\n"));
    });
  }
});
