/** Each mistake in the production code of eviction and image removal is found by the seed that its entry names. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { searchSwarm } from "../test/mutants/mutated-swarm.ts";
import { SWARM_MUTANTS } from "../test/mutants/swarm-mutants.ts";

const MINUTES = 9;

describe("[17.5] [9.10] the swarm finds a kubelet that", () => {
  for (const mutant of SWARM_MUTANTS) {
    test(mutant.name, async () => {
      const found = await searchSwarm(mutant, { seeds: [mutant.seed], minutes: MINUTES, workload: "hungry" });
      assert.ok(found !== undefined, `seed ${mutant.seed} does not violate "${mutant.breaks}"`);
    });
  }
});
