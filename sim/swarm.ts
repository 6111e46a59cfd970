/**
 * A swarm of runs, each from one seed: a few pods with varied volumes, images and lifetimes, users that change and
 * delete objects, and faults of the kinds that this seed has drawn. First all of that happens; then the faults end and
 * the world has time to settle. No invariant may be violated at any time. In the end everything must be as the users
 * requested it, with nothing left of what is gone and the agent at rest.
 */

import { HostFileError } from "../src/ports/host-files.ts";
import type { RuntimeDurations } from "./fake-runtime/node-state.ts";
import type { JudgementCount } from "./judgements.ts";
import { kubeletWith } from "./kubelet.ts";
import type { PortCall } from "./port-calls.ts";
import { makeStage, passUntil, type Stage } from "./scenarios/scenario.ts";
import { SeededRandom } from "./seeded-random.ts";
import type { AgentFactory } from "./sim-node.ts";
import { Coverage } from "./swarm/coverage.ts";
import { Draw } from "./swarm/draw.ts";
import { wrongInTheEnd } from "./swarm/ends.ts";
import { describeFaults, drawFaults, Faults } from "./swarm/faults.ts";
import { noteCall, noteDeath } from "./swarm/note-call.ts";
import { Quiescence } from "./swarm/quiescence.ts";
import { Supervisor } from "./swarm/supervisor.ts";
import { User } from "./swarm/user.ts";
import { drawWorkload, type Workload, type WorkloadKind } from "./swarm/workload.ts";
import { World } from "./world.ts";

export interface SwarmSettings {
  readonly seed: number;
  /** Total duration: faults for a part of it, then rest. */
  readonly minutes: number;
  readonly agent?: AgentFactory;
  readonly workload?: WorkloadKind;
  /** Ends the run at a violation that contains this text, or when its faults have ended. */
  readonly stopAt?: string;
}

export interface SeedRange {
  readonly first: number;
  readonly seeds: number;
  readonly minutes: number;
}

export interface SwarmOutcome {
  readonly seed: number;
  readonly faults: string;
  readonly hasFaults: boolean;
  readonly violations: readonly string[];
  readonly wrong: readonly string[];
  readonly coverage: ReadonlyMap<string, number>;
  /** By rule. */
  readonly judgements: ReadonlyMap<string, JudgementCount>;
  /** The lifetimes of all pods together. */
  readonly podHours: number;
  readonly hash: string;
  readonly lastLines: readonly string[];
}

const NODE = "n1";
const MINUTE_MS = 60_000;
/** The longest back-off is five minutes; the retry needs time after it. */
const SETTLE_MINUTES = 7;
/** Shorter than any hook takes. */
const IN_HOOK_MS = 30;
const QUIESCENT_MS = 2 * MINUTE_MS;
/** How many calls one unhealthy pod, or one token that expires soon, may cause in that time. */
const CHANGES_PER_BUSY_POD = 60;

export async function runSeed(settings: SwarmSettings): Promise<SwarmOutcome> {
  const { seed, minutes, agent: wanted, workload: kind = "all", stopAt } = settings;
  const random = new SeededRandom(`swarm/${seed}`);
  const activeMs = Math.max(1, minutes - SETTLE_MINUTES) * MINUTE_MS;
  const endMs = stopAt === undefined ? Math.max(minutes, SETTLE_MINUTES + 1) * MINUTE_MS : activeMs;
  const set = drawFaults(random.split("faults"));
  const workload = drawWorkload(random.split("workload"), activeMs, kind);
  const agent = wanted ?? kubeletWith(...workload.flags);
  const coverage = new Coverage();
  const faults = new Faults(set, random.split("draws"), coverage);
  const quiescence = new Quiescence();
  const plan = (call: PortCall) => {
    quiescence.observe(call);
    if (call.who === NODE) noteCall(call, stage, coverage);
    return call.who === NODE ? faults.plan(call) : undefined;
  };
  const world: World = new World({
    seed: `swarm/${seed}`,
    plan,
    latencyMs: (_call, chance) => 1 + Math.floor(chance.fraction() * 4),
    onCrash: () => supervisor.died(),
  });
  const node = world.addNode(NODE);
  const stage: Stage = makeStage(world, node, agent);
  node.runtime.knobs.durations = drawDurations(new Draw(random.split("durations")));
  const draw = new Draw(random.split("supervisor"));
  const mayLoseFacts = workload.pods.every(({ pod }) => pod.spec?.restartPolicy === "Always");
  const own: string[] = [];
  const supervisor = new Supervisor({
    node,
    agent,
    clock: world.clock,
    restartMs: () => draw.whole(300, 8_000),
    beforeStart: () => faults.beforeStart(node, mayLoseFacts, stage.oracle.faults),
    onDeath: () => {
      noteDeath(stage, coverage);
      user.agentDied();
    },
    onFailure: (error) => {
      if (!refusesToBegin(error)) own.push(`the agent ended by itself: ${String(error)}`);
    },
  });
  stage.oracle.lifecycle.note = (situation) => coverage.note(situation);
  const user = new User(stage, workload, coverage);
  stage.oracle.foreign.place();
  user.begin();
  supervisor.begin();
  const inHook = (act: () => void) => {
    stage.oracle.lifecycle.atNextHook = () =>
      void world.clock.after(IN_HOOK_MS, () => (faults.isOn ? act() : undefined));
  };
  const parts = { world, node, supervisor, workload, coverage, draw: new Draw(random.split("timed")), inHook };
  faults.begin(parts);
  stage.oracle.evictions.onChoice = () => faults.chosen(parts);
  const isFound = () => stopAt !== undefined && stage.oracle.violations.some((text) => text.includes(stopAt));
  const pass = (untilMs: number) => passWatched(stage, supervisor, untilMs, isFound);
  await pass(activeMs);
  faults.heal();
  await pass(endMs - QUIESCENT_MS);
  quiescence.begin();
  await pass(endMs);
  const wrong = [
    ...own,
    ...wrongInTheEnd(stage, workload, user.made, set),
    ...quiescence.wrong(CHANGES_PER_BUSY_POD * busyPods(workload)),
  ];
  return {
    seed,
    faults: describeFaults(set),
    hasFaults: set.calls.size + set.timed.size > 0 || set.damagesJournal,
    violations: stage.oracle.violations,
    wrong,
    coverage: coverage.counts,
    judgements: stage.oracle.lifecycle.judgements.counts,
    podHours: podHours(workload, endMs),
    hash: world.trace.hash,
    lastLines: world.trace.lastLines,
  };
}

/** Without its journal an agent does not know what it must not repeat. It exits with an error and is restarted. */
const refusesToBegin = (error: unknown): boolean =>
  error instanceof HostFileError && /^(list|read) \S+\/deckhand\/journal\b/.test(error.message);

/** Runs the seeds one after the other. */
export async function runSeeds({ first, seeds, minutes }: SeedRange): Promise<readonly SwarmOutcome[]> {
  const outcomes: SwarmOutcome[] = [];
  for (let seed = first; seed < first + seeds; seed += 1) outcomes.push(await runSeed({ seed, minutes }));
  return outcomes;
}

/** Some runtimes are slow, so that events find work half done. */
const drawDurations = (draw: Draw): RuntimeDurations => ({
  runSandboxMs: draw.pick([0, 20, 800]),
  createContainerMs: draw.pick([0, 10, 300]),
  startContainerMs: draw.pick([0, 10, 500]),
});

const LOOK_EVERY_MS = 1_000;

async function passWatched(
  stage: Stage,
  supervisor: Supervisor,
  untilMs: number,
  isFound: () => boolean,
): Promise<void> {
  const { clock } = stage.world;
  while (clock.monotonicMs() < untilMs && !isFound()) {
    await passUntil(stage, Math.min(untilMs, clock.monotonicMs() + LOOK_EVERY_MS));
    supervisor.look();
  }
}

/**
 * The number of pods that keep the agent busy. Pods that crash or wait are retried forever; tokens are renewed, also
 * long-lived ones of pods that are old by then.
 */
const busyPods = ({ pods }: Workload): number =>
  pods.filter(({ pod, end }) => {
    const tokens = pod.spec?.volumes?.flatMap(({ projected }) => projected?.sources ?? []) ?? [];
    return (
      end === "crashes" ||
      end === "waits" ||
      tokens.some(({ serviceAccountToken }) => serviceAccountToken !== undefined)
    );
  }).length;

const podHours = ({ pods }: Workload, endMs: number): number =>
  pods.reduce((sum, { createMs, fate }) => sum + (fate.kind === "stays" ? endMs : fate.atMs) - createMs, 0) / 3_600_000;

/** For people: what broke, and how to reproduce it. */
export const describeOutcome = (
  { seed, faults, violations, wrong, lastLines }: SwarmOutcome,
  minutes: number,
): string =>
  [
    `seed ${seed} (${faults}): npm run swarm -- ${seed} ${minutes}`,
    ...violations,
    ...wrong,
    ...lastLines.slice(-15),
  ].join("\n  ");
