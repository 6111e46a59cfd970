import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { knownBugs } from "./known-bugs.ts";
import { play } from "./scenario.ts";

describe("bugs that kubelets have had", () => {
  for (const scenario of knownBugs) {
    test(`scenario ${scenario.bug}: ${scenario.name}`, async () => {
      const [first, second] = [await play(scenario), await play(scenario)];
      assert.deepEqual([first.violations, first.wrong], [[], []], first.lastLines.slice(-30).join("\n"));
      assert.equal(first.hash, second.hash);
    });
  }
});
