import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mutants } from "../mutants.ts";
import { play } from "./scenario.ts";
import { withVolumes } from "./with-volumes.ts";

describe("ordinary pods with volumes", () => {
  for (const scenario of withVolumes) {
    test(`${scenario.name}: breaks no invariant and ends as expected; the same seed gives the same trace`, async () => {
      const [first, second] = [await play(scenario), await play(scenario)];
      assert.deepEqual([first.violations, first.wrong], [[], []], first.lastLines.slice(-30).join("\n"));
      assert.equal(first.hash, second.hash);
    });
  }
});

describe("scenarios with volumes detect a kubelet that", () => {
  for (const { name, breaks, agent, scenario: wanted, diesAt } of mutants) {
    test(name, async () => {
      const scenario = withVolumes.find((each) => each.name === wanted);
      assert.ok(scenario !== undefined, wanted);
      const crashAt = diesAt === undefined ? {} : { crashAt: { call: diesAt, effect: "none" as const } };
      const { violations, wrong } = await play(scenario, { agent, ...crashAt });
      const found = [...violations, ...wrong];
      assert.ok(
        found.some((text) => text.includes(breaks)),
        `found only ${JSON.stringify(found)}`,
      );
    });
  }
});
