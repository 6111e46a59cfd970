import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lifeMutants } from "./life-mutants.ts";
import { ruleMutants } from "./rule-mutants.ts";
import { scenarios } from "./scenarios/all-crash-points.ts";
import { knownBugs } from "./scenarios/known-bugs.ts";
import { play } from "./scenarios/scenario.ts";
import { withRules } from "./scenarios/with-rules.ts";

describe("the oracle detects a kubelet that", () => {
  for (const { name, breaks, agent, scenario: wanted } of [...lifeMutants, ...ruleMutants]) {
    test(name, async () => {
      const scenario = [...scenarios, ...knownBugs, ...withRules].find((each) => each.name === wanted);
      assert.ok(scenario !== undefined, wanted);
      const { violations } = await play(scenario, { agent });
      assert.ok(
        violations.some((text) => text.includes(breaks)),
        `found only ${JSON.stringify(violations)}`,
      );
    });
  }
});
