/**
 * The rounds of a run: in each, every subject in turn does everything that was asked for, on a clean node. A round in which others used
 * the machine is marked, and tried again as often as the size allows; the quietest try is the one that counts.
 */

import { pause } from "../test/cluster/wait.ts";
import { bareHand } from "./bare-hand.ts";
import type { Hand, Outcome, Stage } from "./hand.ts";
import { kubeletHand } from "./kubelet-hand.ts";
import type { Observations } from "./life.ts";
import { bursts } from "./scenarios/burst.ts";
import { exits } from "./scenarios/exits.ts";
import { idle } from "./scenarios/idle.ts";
import { oneByOne } from "./scenarios/one-by-one.ts";
import { recovery } from "./scenarios/recovery.ts";
import type { Size } from "./sizes.ts";
import { type BenchmarkId, type Figure, SUBJECTS, type SubjectName } from "./subjects.ts";
import { type Load, watchLoad } from "./usage.ts";
import type { World } from "./world.ts";

const OTHERS_SHARE_MAX = 0.05;
/** A few rounds of either agent's housekeeping. */
const HOUSEKEEPING_MS = 5_000;

export interface Turn {
  readonly subject: SubjectName;
  readonly load: Load;
  readonly figures: readonly Figure[];
  readonly observations: Observations;
}

export interface Round {
  readonly kind: "busy" | "idle";
  readonly number: number;
  readonly tries: number;
  /** Others used the machine in every try. */
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
  { of: ["B4", "B7"], run: bursts },
  { of: ["B5", "B6"], run: exits },
  // The last: it ends the agent.
  { of: ["B18"], run: recovery, agentsOnly: true },
];
const IDLE: readonly Scenario[] = [{ of: ["B9", "B10"], run: idle, agentsOnly: true }];

export interface Plan {
  readonly world: World;
  readonly size: Size;
  readonly wanted: readonly BenchmarkId[];
  readonly subjects: readonly SubjectName[];
  readonly report: (line: string) => void;
}

export async function runRounds(plan: Plan): Promise<readonly Round[]> {
  const rounds: Round[] = [];
  const { size, wanted } = plan;
  const chosen = (scenarios: readonly Scenario[]) =>
    scenarios.filter((scenario) => scenario.of.some((id) => wanted.includes(id)));
  const blocks = [
    { kind: "busy", scenarios: chosen(BUSY), count: size.rounds },
    { kind: "idle", scenarios: chosen(IDLE), count: size.idleRounds },
  ] as const;
  for (const { kind, scenarios, count } of blocks) {
    if (scenarios.length === 0) continue;
    for (let number = 1; number <= count; number += 1) rounds.push(await runRound(plan, kind, number, scenarios));
  }
  return rounds;
}

async function runRound(
  plan: Plan,
  kind: Round["kind"],
  number: number,
  scenarios: readonly Scenario[],
): Promise<Round> {
  let best: readonly Turn[] | undefined;
  for (let tries = 1; ; tries += 1) {
    const turns: Turn[] = [];
    for (const subject of SUBJECTS.filter((name) => plan.subjects.includes(name))) {
      const own = scenarios.filter(({ agentsOnly = false }) => subject !== "bare" || !agentsOnly);
      if (own.length === 0) continue;
      turns.push(await takeTurn(plan, subject, own, `${kind}${number}-${tries}-${subject}`));
    }
    if (best === undefined || busiest(turns) < busiest(best)) best = turns;
    const loaded = busiest(best) > OTHERS_SHARE_MAX;
    const share = `${Math.round(busiest(turns) * 100)} % used by others`;
    plan.report(
      `${kind} round ${number}, try ${tries}: ${share}${busiest(turns) > OTHERS_SHARE_MAX ? ", loaded" : ""}`,
    );
    if (!loaded || tries > plan.size.repeatsMax) return { kind, number, tries, loaded, turns: best };
  }
}

const busiest = (turns: readonly Turn[]): number => Math.max(...turns.map(({ load }) => load.othersShare));

async function takeTurn(
  { world, size, wanted, report }: Plan,
  subject: SubjectName,
  scenarios: readonly Scenario[],
  label: string,
): Promise<Turn> {
  await world.clean();
  const hand = await handOf(world, subject);
  await pause(subject === "bare" ? 0 : size.settleMs);
  // What is done for the first time is slower: files are read, code is compiled.
  await hand.up(`${label}-first`, "pause");
  await pause(1_000);
  await hand.down(`${label}-first`);
  await hand.tidy();
  const loadSince = await watchLoad(world.cluster.layout.cgroupParent);
  const figures: Figure[] = [];
  let observations: Observations = {};
  for (const { run } of scenarios) {
    const outcome = await run({ world, hand, label }, size);
    figures.push(...outcome.figures.filter(({ benchmark }) => wanted.includes(benchmark)));
    observations = { ...observations, ...outcome.observations };
  }
  const load = await loadSince();
  // What an agent leaves of its last pods when it ends is work and memory of the next one.
  await pause(subject === "bare" ? 0 : HOUSEKEEPING_MS);
  await hand.end();
  await world.clean();
  report(`${label}: ${figures.map(({ name, value, unit }) => `${name} ${value.toFixed(1)} ${unit}`).join(", ")}`);
  return { subject, load, figures, observations };
}

async function handOf(world: World, subject: SubjectName): Promise<Hand> {
  return subject === "bare" ? bareHand(world) : kubeletHand(world, await world.startAgent(subject));
}
