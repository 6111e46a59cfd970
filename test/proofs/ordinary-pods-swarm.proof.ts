/**
 * Ordinary pods under a swarm of faults: each seed draws its own pods, users and faults, then all faults end. Small
 * size: four seeds of ten simulated minutes. Whole size: two hundred seeds of an hour, in which every hard state must
 * have been reached.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Coverage, VOLUME_SITUATIONS } from "../../sim/swarm/coverage.ts";
import { describeOutcome, runSeed, runSeeds } from "../../sim/swarm.ts";
import { figure } from "../figures.ts";
import { seed, wholeSize } from "../size.ts";
import { inWorkerThread } from "../support/worker-thread.ts";

const SEEDS = wholeSize() ? 200 : 4;
const MINUTES = wholeSize() ? 60 : 10;

test("under faults and kills volumes are complete while containers run, and removed with their pods", async () => {
  const coverage = new Coverage();
  const failures: string[] = [];
  let podHours = 0;
  const before = process.cpuUsage();
  const range = { first: seed() * 1_000, seeds: SEEDS, minutes: MINUTES };
  for (const outcome of await inWorkerThread(new URL("../../sim/swarm.ts", import.meta.url), runSeeds, range)) {
    coverage.add(outcome.coverage);
    podHours += outcome.podHours;
    if (outcome.violations.length + outcome.wrong.length > 0) failures.push(describeOutcome(outcome, MINUTES));
  }
  const { user, system } = process.cpuUsage(before);
  const cpuMinutes = (user + system) / 60_000_000;
  figure("seeds", SEEDS, "seeds");
  figure("simulated", (SEEDS * MINUTES) / 60, "h");
  figure("simulated pods", Math.round(podHours * 10) / 10, "pod-h");
  figure("simulated pods per CPU minute", Math.round(podHours / cpuMinutes), "pod-h/min");
  figure("seeds with a violation", failures.length, "seeds");
  for (const situation of VOLUME_SITUATIONS) figure(situation, coverage.count(situation), "times");
  assert.equal(failures.length, 0, failures.slice(0, 3).join("\n"));
  if (wholeSize()) assert.deepEqual(coverage.missing(VOLUME_SITUATIONS), []);
});

test("two runs from the same seed are identical", async () => {
  const [one, two] = [await runSeed({ seed: seed(), minutes: 9 }), await runSeed({ seed: seed(), minutes: 9 })];
  assert.equal(one.hash, two.hash);
});
