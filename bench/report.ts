/**
 * The tables of a run, as data and as text: ratios, and the comparison with an earlier commit. They show losses and
 * wins.
 */
import { type Comparison, compare } from "./against.ts";
import {
  type AgentName,
  type BenchmarkId,
  CANDIDATES,
  type CandidateName,
  type Figure,
  type Goal,
} from "./candidates.ts";
import type { Round } from "./rounds.ts";
import { type Spread, spread } from "./statistics.ts";

type Key = Pick<Row, "benchmark" | "figure" | "unit">;

export interface Row {
  readonly benchmark: BenchmarkId;
  readonly figure: string;
  readonly unit: Figure["unit"];
  /** Over the rounds; each round has one value. */
  readonly values: Readonly<Partial<Record<CandidateName, Spread>>>;
  /** Ratios of two values of the same round. */
  readonly toGo: Spread | undefined;
  readonly toBare: Spread | undefined;
  /** The comparison with the build of an earlier commit, if that build was measured too. */
  readonly comparison: Comparison | undefined;
  readonly goal?: { readonly limit: Goal["limit"]; readonly reached: boolean };
}

export interface Difference {
  readonly what: string;
  readonly shown: Readonly<Partial<Record<AgentName, string>>>;
}

export function ratioTable(rounds: readonly Round[], goals: readonly Goal[]): readonly Row[] {
  const keys = new Map<string, Key>();
  for (const { benchmark, name, unit } of rounds.flatMap(({ turns }) => turns.flatMap(({ figures }) => figures))) {
    keys.set(`${benchmark} ${name}`, { benchmark, figure: name, unit });
  }
  const rows = [...keys.values()].map((key) => rowOf(key, rounds, goals));
  return rows.sort((a, b) => Number(a.benchmark.slice(1)) - Number(b.benchmark.slice(1)));
}

function rowOf(key: Key, rounds: readonly Round[], goals: readonly Goal[]): Row {
  const valueIn = (round: Round, candidate: CandidateName) =>
    round.turns
      .find((turn) => turn.subject === candidate)
      ?.figures.find(({ benchmark, name }) => benchmark === key.benchmark && name === key.figure)?.value;
  const known = (values: readonly (number | undefined)[]) => values.filter((value) => value !== undefined);
  const over = (values: readonly number[]) => (values.length === 0 ? undefined : spread(values));
  const ratios = (to: CandidateName) =>
    over(
      rounds.flatMap((round) => {
        const [own, other] = [valueIn(round, "deckhand"), valueIn(round, to)];
        return own === undefined || other === undefined || other === 0 ? [] : [own / other];
      }),
    );
  const values: Partial<Record<CandidateName, Spread>> = {};
  for (const candidate of CANDIDATES) {
    const measured = over(known(rounds.map((round) => valueIn(round, candidate))));
    if (measured !== undefined) values[candidate] = measured;
  }
  const row = { ...key, values, toGo: ratios("go"), toBare: ratios("bare"), comparison: compare(key.unit, values) };
  const goal = goals.find(({ benchmark, figure }) => benchmark === key.benchmark && figure === key.figure);
  return goal === undefined ? row : { ...row, goal: { limit: goal.limit, reached: isReached(goal.limit, row) } };
}

function isReached(limit: Goal["limit"], { values, toGo }: Pick<Row, "values" | "toGo">): boolean {
  if ("timesGo" in limit) return toGo !== undefined && toGo.median <= limit.timesGo;
  return values.deckhand !== undefined && values.deckhand.median <= limit.value;
}

/** Observations in which agents differed within any round. */
export function differences(rounds: readonly Round[]): readonly Difference[] {
  const found = new Map<string, Difference>();
  for (const { turns } of rounds) {
    const agents = turns.filter(({ subject }) => subject !== "bare");
    for (const what of new Set(agents.flatMap(({ observations }) => Object.keys(observations)))) {
      const shown = agents.map(({ subject, observations }) => [subject, observations[what] ?? "nothing"] as const);
      if (new Set(shown.map(([, text]) => text)).size > 1) found.set(what, { what, shown: Object.fromEntries(shown) });
    }
  }
  return [...found.values()];
}

const digits = (value: number) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));
const ranged = (values: Spread | undefined) =>
  values === undefined ? "–" : `${digits(values.median)} (${digits(values.min)}–${digits(values.max)})`;
const goalText = (goal: Row["goal"]) => {
  if (goal === undefined) return "";
  const limit = "timesGo" in goal.limit ? `≤ ${goal.limit.timesGo}× Go` : `≤ ${goal.limit.value}`;
  return `${limit}: ${goal.reached ? "yes" : "NO"}`;
};

const RATIO_CANDIDATES = ["bare", "go", "deckhand"] as const;

/** Returns the ratios as a Markdown table. */
export function ratioText(rows: readonly Row[]): string {
  const head = ["", "figure", "unit", ...RATIO_CANDIDATES, "Deckhand ÷ Go", "Deckhand ÷ bare", "goal"];
  const body = rows.map(({ benchmark, figure, unit, values, toGo, toBare, goal }) => [
    benchmark,
    figure,
    unit,
    ...RATIO_CANDIDATES.map((candidate) => ranged(values[candidate])),
    ranged(toGo),
    ranged(toBare),
    goalText(goal),
  ]);
  return markdown(head, body);
}

const COMPARED_CANDIDATES = ["deckhand", "before", "before again"] as const;
const signed = (percent: number | undefined) =>
  percent === undefined ? "–" : `${percent > 0 ? "+" : ""}${percent.toFixed(1)} %`;

/** Returns the comparison with an earlier commit as a Markdown table. */
export function comparisonText(rows: readonly Row[]): string {
  const head = ["", "figure", "unit", ...COMPARED_CANDIDATES, "difference", "noise", "verdict"];
  const body = rows.map(({ benchmark, figure, unit, values, comparison }) => [
    benchmark,
    figure,
    unit,
    ...COMPARED_CANDIDATES.map((candidate) => ranged(values[candidate])),
    signed(comparison?.differencePercent),
    comparison?.noisePercent === undefined ? "–" : `${comparison.noisePercent.toFixed(1)} %`,
    comparison?.verdict ?? "–",
  ]);
  return markdown(head, body);
}

const markdown = (head: readonly string[], body: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
