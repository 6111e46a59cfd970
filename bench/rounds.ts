/**
 * Runs the rounds. In a busy round every candidate in turn runs all requested benchmarks on a clean node. In an idle
 * round all agents idle at the same time, each with each number of pods on its own node. The order of the turns, and
 * which agent has which node, changes from round to round. A round in which other processes used the machine is marked
 * and repeated as often as the size allows; the quietest try counts.
 */

import { pause } from "../test/cluster/wait.ts";
import { type AgentName, type BenchmarkId, type CandidateName, type Figure, slugOf, turnOrder } from "./candidates.ts";
import { criDriver } from "./cri-driver.ts";
import { kubeletDriver } from "./kubelet-driver.ts";
import type { Outcome, PodDriver, Stage } from "./pod-driver.ts";
import type { Observations } from "./pod-observations.ts";
import { bursts } from "./scenarios/burst.ts";
import { edits } from "./scenarios/edits.ts";
import { execs } from "./scenarios/execs.ts";
import { exits } from "./scenarios/exits.ts";
import { type IdleStage, idle } from "./scenarios/idle.ts";
import { logs } from "./scenarios/logs.ts";
import { nodeConditions } from "./scenarios/node-conditions.ts";
import { oneByOne } from "./scenarios/one-by-one.ts";
import { probes } from "./scenarios/probes.ts";
import { pulls } from "./scenarios/pulls.ts";
import { recovery } from "./scenarios/recovery.ts";
import { scrapes } from "./scenarios/scrapes.ts";
import { startup } from "./scenarios/startup.ts";
import { withVolumes } from "./scenarios/with-volumes.ts";
import type { Size } from "./sizes.ts";
import { type Load, watchLoad } from "./usage.ts";
import type { World } from "./world.ts";

const OTHERS_SHARE_MAX = 0.05;
const IDLE: readonly BenchmarkId[] = ["B9", "B10"];
/** Long enough for a few rounds of either agent's housekeeping. */
const HOUSEKEEPING_MS = 5_000;

export interface Turn {
  readonly subject: CandidateName;
  readonly load: Load;
  readonly figures: readonly Figure[];
  readonly observations: Observations;
}

export interface Round {
  readonly kind: "busy" | "idle";
  readonly number: number;
  readonly tries: number;
  /** Other processes used the machine in every try. */
  readonly loaded: boolean;
  readonly turns: readonly Turn[];
}

interface Scenario {
  readonly of: readonly BenchmarkId[];
  readonly run: (stage: Stage, size: Size) => Promise<Outcome>;
  readonly agentsOnly?: boolean;
}

const BUSY: readonly Scenario[] = [
  { of: ["B1", "B7", "B11"], run: oneByOne },
  { of: ["B2", "B3"], run: withVolumes },
  { of: ["B4", "B7"], run: bursts },
  { of: ["B5", "B6"], run: exits },
  { of: ["B8"], run: edits, agentsOnly: true },
  { of: ["B13"], run: execs },
  { of: ["B15", "B16"], run: probes, agentsOnly: true },
  { of: ["B26"], run: scrapes, agentsOnly: true },
  // These come last: they stop the agent.
  { of: ["B18"], run: recovery, agentsOnly: true },
  { of: ["B19"], run: nodeConditions, agentsOnly: true },
  { of: ["B25"], run: startup, agentsOnly: true },
  { of: ["B21"], run: pulls, agentsOnly: true },
  { of: ["B14"], run: logs, agentsOnly: true },
];

export interface Plan {
  readonly size: Size;
  readonly wanted: readonly BenchmarkId[];
  readonly candidates: readonly CandidateName[];
  readonly report: (line: string) => void;
  readonly inWorlds: <T>(nodes: number, act: (worlds: readonly World[]) => Promise<T>) => Promise<T>;
}

type Take = (label: string, number: number) => Promise<readonly Turn[]>;

export async function runRounds(plan: Plan): Promise<readonly Round[]> {
  const { size, wanted } = plan;
  const rounds: Round[] = [];
  const run = async (kind: Round["kind"], count: number, take: Take) => {
    for (let number = 1; number <= count; number += 1) rounds.push(await runRound(plan, kind, number, take));
  };
  const busy = BUSY.filter((scenario) => scenario.of.some((id) => wanted.includes(id)));
  if (busy.length > 0) {
    await plan.inWorlds(1, async ([world]) => {
      if (world === undefined) return;
      await run("busy", size.rounds, (label, number) =>
        takeTurns({ ...plan, candidates: turnOrder(plan.candidates, number) }, world, busy, label),
      );
    });
  }
  const agents = plan.candidates.filter((name) => name !== "bare");
  if (agents.length > 0 && IDLE.some((id) => wanted.includes(id))) {
    await plan.inWorlds(agents.length * size.idlePods.length, (worlds) =>
      run("idle", size.idleRounds, (label, number) => takeIdleTurns(plan, worlds, turnOrder(agents, number), label)),
    );
  }
  return rounds;
}

async function runRound(plan: Plan, kind: Round["kind"], number: number, take: Take): Promise<Round> {
  let best: readonly Turn[] | undefined;
  for (let tries = 1; ; tries += 1) {
    const turns = await take(`${kind}${number}-${tries}`, number);
    if (best === undefined || busiest(turns) < busiest(best)) best = turns;
    const loaded = busiest(best) > OTHERS_SHARE_MAX;
    const share = `${Math.round(busiest(turns) * 100)} % used by others`;
    plan.report(
      `${kind} round ${number}, try ${tries}: ${share}${busiest(turns) > OTHERS_SHARE_MAX ? ", loaded" : ""}`,
    );
    if (!loaded || tries > plan.size.repeatsMax) return { kind, number, tries, loaded, turns: best };
  }
}

async function takeTurns(
  plan: Plan,
  world: World,
  scenarios: readonly Scenario[],
  label: string,
): Promise<readonly Turn[]> {
  const turns: Turn[] = [];
  for (const candidate of plan.candidates) {
    const own = scenarios.filter(({ agentsOnly = false }) => candidate !== "bare" || !agentsOnly);
    if (own.length > 0) turns.push(await takeTurn(plan, world, candidate, own, `${label}-${slugOf(candidate)}`));
  }
  return turns;
}

/** Idle agents run concurrently: each gets its full time, and disturbances of the machine hit all of them. */
async function takeIdleTurns(
  { size, wanted, report }: Plan,
  worlds: readonly World[],
  agents: readonly AgentName[],
  label: string,
): Promise<readonly Turn[]> {
  const seats = agents.flatMap((agent) => size.idlePods.map((pods) => ({ agent, pods })));
  const stages: (IdleStage & { readonly agent: AgentName })[] = [];
  for (const [index, world] of worlds.entries()) {
    const seat = seats[index];
    if (seat === undefined) continue;
    await world.clean();
    const driver = await driverOf(world, seat.agent);
    stages.push({ world, driver, label: `${label}-${slugOf(seat.agent)}`, ...seat });
  }
  await pause(size.settleMs);
  const loadSince = await watchLoad(stages[0]?.world.cluster.layout.cgroupParent ?? "");
  const figures = await idle(stages, size);
  const load = await loadSince();
  for (const { world, driver } of stages) {
    await driver.end();
    await world.clean();
  }
  return agents.map((candidate) => {
    const own = stages.flatMap(({ agent }, index) => (agent === candidate ? (figures[index] ?? []) : []));
    const chosen = own.filter(({ benchmark }) => wanted.includes(benchmark));
    report(describe(`${label}-${candidate}`, chosen));
    return { subject: candidate, load, figures: chosen, observations: {} };
  });
}

const describe = (label: string, figures: readonly Figure[]) =>
  `${label}: ${figures.map(({ name, value, unit }) => `${name} ${value.toFixed(1)} ${unit}`).join(", ")}`;

const busiest = (turns: readonly Turn[]): number => Math.max(...turns.map(({ load }) => load.othersShare));

async function takeTurn(
  { size, wanted, report }: Plan,
  world: World,
  candidate: CandidateName,
  scenarios: readonly Scenario[],
  label: string,
): Promise<Turn> {
  await world.clean();
  const driver = await driverOf(world, candidate);
  await pause(candidate === "bare" ? 0 : size.settleMs);
  // The first pod is slower: files are read and code is compiled.
  await driver.up(`${label}-first`, "pause");
  await pause(1_000);
  await driver.down(`${label}-first`);
  await driver.tidy();
  const loadSince = await watchLoad(world.cluster.layout.cgroupParent);
  const figures: Figure[] = [];
  let observations: Observations = {};
  for (const { run } of scenarios) {
    const outcome = await run({ world, driver, label }, size);
    figures.push(...outcome.figures.filter(({ benchmark }) => wanted.includes(benchmark)));
    observations = { ...observations, ...outcome.observations };
  }
  const load = await loadSince();
  // Otherwise the cleanup of this candidate's last pods would cost the next candidate CPU and memory.
  await pause(candidate === "bare" ? 0 : HOUSEKEEPING_MS);
  await driver.end();
  await world.clean();
  report(describe(label, figures));
  return { subject: candidate, load, figures, observations };
}

async function driverOf(world: World, candidate: CandidateName): Promise<PodDriver> {
  return candidate === "bare" ? criDriver(world) : kubeletDriver(world, await world.startAgent(candidate));
}
