import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { play } from "./scenario.ts";
import { withEviction } from "./with-eviction.ts";

describe("[17.5] [17.6] a node under pressure", () => {
  for (const scenario of withEviction) {
    test(`${scenario.name}: breaks no rule and ends as expected`, async () => {
      const { violations, wrong, lastLines } = await play(scenario);
      assert.deepEqual([violations, wrong], [[], []], lastLines.slice(-30).join("\n"));
    });
  }
});
