/** Mistakes in the production code of eviction and image removal: the swarm finds each within fifty seeds. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { figure } from "../figures.ts";
import { searchSwarm } from "../mutants/mutated-swarm.ts";
import { SWARM_MUTANTS } from "../mutants/swarm-mutants.ts";
import { seed } from "../size.ts";

const SEEDS = 50;
const MINUTES = 9;

describe("the swarm finds a kubelet that", () => {
  for (const mutant of SWARM_MUTANTS) {
    test(mutant.name, async () => {
      const seeds = Array.from({ length: SEEDS }, (_, index) => seed() * 1_000 + index);
      const found = await searchSwarm(mutant, { seeds, minutes: MINUTES, workload: "all" });
      assert.ok(found !== undefined, `${SEEDS} seeds do not violate "${mutant.breaks}"`);
      figure(`${mutant.name}: seeds`, seeds.indexOf(found.seed) + 1, "seeds");
    });
  }
});
