/**
 * The container lifecycle, in three parts: known kubelet bugs, with the agent killed at every port call; a swarm of
 * pods with init containers, servers, probes, hooks and preemption, under faults; and kubelets that each lack one rule,
 * which must be detected. Small size: every 250th call, two seeds of ten simulated minutes. Whole size: every call, two
 * hundred seeds of an hour, in which every hard state must have been reached.
 */
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { before, describe, test } from "node:test";
import { COUNTED_RULES, Judgements } from "../../sim/judgements.ts";
import { lifeMutants } from "../../sim/life-mutants.ts";
import { ruleMutants } from "../../sim/rule-mutants.ts";
import { knownBugCrashPoints, scenarios } from "../../sim/scenarios/all-crash-points.ts";
import { describeFailure, type Enumeration } from "../../sim/scenarios/crash-points.ts";
import { knownBugs } from "../../sim/scenarios/known-bugs.ts";
import { play } from "../../sim/scenarios/scenario.ts";
import { withRules } from "../../sim/scenarios/with-rules.ts";
import { Coverage, LIFECYCLE_SITUATIONS } from "../../sim/swarm/coverage.ts";
import { describeOutcome, runSeeds } from "../../sim/swarm.ts";
import { figure } from "../figures.ts";
import { seed, wholeSize } from "../size.ts";
import { inWorkerThread } from "../support/worker-thread.ts";

/**
 * For a machine that is shared: `DECKHAND_SHARE=4` runs every fourth call and a fourth of the seeds, each of them
 * whole.
 */
const SHARE = Number(process.env["DECKHAND_SHARE"] ?? "1");
/** The 54th call is in the middle of a pod start in every scenario. */
const CALLS = wholeSize() ? { stride: SHARE } : { stride: 250, from: 54 };
const SEEDS = wholeSize() ? 200 / SHARE : 2;
const MINUTES = wholeSize() ? 60 : 10;
/** The minimum share of a rule's cases that must be judged in seeds with faults. */
const JUDGED_SHARE_MIN = 0.6;
/** The small size runs beside other tests. */
const threads = [...Array(wholeSize() ? availableParallelism() : 1).keys()];
const POINTS = new URL("../../sim/scenarios/all-crash-points.ts", import.meta.url);
const SWARM = new URL("../../sim/swarm.ts", import.meta.url);

describe("killed at any call", () => {
  let found: ReadonlyMap<string, Enumeration> = new Map();
  before(async () => {
    const shares = threads.map((first) => ({ ...CALLS, share: { first, of: threads.length } }));
    const parts = await Promise.all(shares.map((share) => inWorkerThread(POINTS, knownBugCrashPoints, share)));
    found = new Map(parts.flatMap((part) => [...part]));
  });
  for (const { bug, name } of knownBugs) {
    test(`scenario ${bug}: ${name}`, () => {
      const { points, failures } = found.get(name) ?? { points: 0, failures: [] };
      figure(`scenario ${bug}: crash points`, points, "points");
      figure(`scenario ${bug}: violations`, failures.length, "points");
      assert.ok(points > 0);
      assert.equal(failures.length, 0, failures.slice(0, 3).map(describeFailure).join("\n"));
    });
  }
});

test("containers start, answer probes, wait and terminate correctly under faults and kills", async () => {
  const coverage = new Coverage();
  const underFaults = new Judgements();
  const failures: string[] = [];
  let podHours = 0;
  const each = Math.ceil(SEEDS / threads.length);
  const ranges = threads.map((index) => {
    const [first, seeds] = [seed() * 1_000 + index * each, Math.min(each, SEEDS - index * each)];
    return { first, seeds, minutes: MINUTES };
  });
  const outcomes = await Promise.all(ranges.map((range) => inWorkerThread(SWARM, runSeeds, range)));
  for (const outcome of outcomes.flat()) {
    coverage.add(outcome.coverage);
    if (outcome.hasFaults) underFaults.add(outcome.judgements);
    podHours += outcome.podHours;
    if (outcome.violations.length + outcome.wrong.length > 0) failures.push(describeOutcome(outcome, MINUTES));
  }
  figure("seeds", SEEDS, "seeds");
  figure("simulated", (SEEDS * MINUTES) / 60, "h");
  figure("simulated pods", Math.round(podHours * 10) / 10, "pod-h");
  figure("seeds with a violation", failures.length, "seeds");
  for (const situation of LIFECYCLE_SITUATIONS) figure(situation, coverage.count(situation), "times");
  for (const rule of COUNTED_RULES) {
    const { judged, excused } = underFaults.of(rule);
    figure(`${rule} under faults: judged`, judged, "times");
    figure(`${rule} under faults: excused`, excused, "times");
  }
  assert.equal(failures.length, 0, failures.slice(0, 3).join("\n"));
  if (!wholeSize()) return;
  assert.deepEqual(coverage.missing(LIFECYCLE_SITUATIONS), []);
  const lax = COUNTED_RULES.filter((rule) => underFaults.shareJudged(rule) < JUDGED_SHARE_MIN);
  assert.deepEqual(lax, [], "faults excuse too much");
});

test("a kubelet that lacks one of the rules is detected", async () => {
  const missed: string[] = [];
  const mutants = [...lifeMutants, ...ruleMutants];
  for (const { name, agent, breaks, scenario: wanted } of mutants) {
    const scenario = [...scenarios, ...knownBugs, ...withRules].find((each) => each.name === wanted);
    assert.ok(scenario !== undefined, wanted);
    const { violations } = await play(scenario, { agent });
    if (!violations.some((text) => text.includes(breaks))) missed.push(name);
  }
  figure("kubelets that lack a rule", mutants.length, "mutants");
  assert.deepEqual(missed, []);
});
