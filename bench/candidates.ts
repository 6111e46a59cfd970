/** Defines the measured candidates, the benchmarks, and what a figure is. */

import type { Size } from "./sizes.ts";

/**
 * In the order of the first round. Bare is our CRI client making the same calls without a kubelet: the lower bound for
 * every kubelet. "before" and "before again" are the same build of an earlier commit: their difference is noise.
 */
export const CANDIDATES = ["bare", "go", "deckhand", "before", "before again"] as const;
export type CandidateName = (typeof CANDIDATES)[number];
export type AgentName = Exclude<CandidateName, "bare">;
/** Agents that are a build of this repository. */
export type BuildName = Exclude<AgentName, "go">;

/** Used in the names of pods, files and directories. */
export const slugOf = (candidate: CandidateName): string => candidate.replaceAll(" ", "-");

/** What the command line can name. "before" stands for both of its turns. */
export const selectable = (isAgainst: boolean): readonly CandidateName[] =>
  CANDIDATES.filter((name) => name !== "before again" && (isAgainst || name !== "before"));

/** The candidates of `--only`, or the default. Undefined for an unknown name, and for `--against` without "before". */
export function candidatesOf(only: string | undefined, isAgainst: boolean): readonly CandidateName[] | undefined {
  const known: readonly string[] = selectable(isAgainst);
  const names = only?.split(",") ?? (isAgainst ? ["deckhand", "before"] : known);
  const isUsable = names.every((name) => known.includes(name)) && names.includes("before") === isAgainst;
  return isUsable ? CANDIDATES.filter((name) => names.includes(name === "before again" ? "before" : name)) : undefined;
}

/**
 * Returns the order of a round. Every round begins with the next candidate. After one round for each candidate the
 * order runs backward, and later forward again. So each candidate has each place equally often, and three candidates
 * take all six orders.
 */
export function turnOrder<T>(candidates: readonly T[], round: number): readonly T[] {
  const [cycle, first] = [Math.floor((round - 1) / candidates.length), (round - 1) % candidates.length];
  const order = cycle % 2 === 0 ? candidates : candidates.toReversed();
  return [...order.slice(first), ...order.slice(0, first)];
}

export interface Figure {
  readonly benchmark: BenchmarkId;
  readonly name: string;
  readonly unit: "ms" | "s" | "CPU-ms" | "CPU-s/min" | "CPU-s" | "MB" | "requests" | "probes" | "bytes";
  readonly value: number;
  /** All samples, where the value is a median of several. */
  readonly samples?: readonly number[];
}

export const BENCHMARKS = [
  "B1",
  "B2",
  "B3",
  "B4",
  "B5",
  "B6",
  "B7",
  "B8",
  "B9",
  "B10",
  "B11",
  "B13",
  "B14",
  "B15",
  "B16",
  "B18",
  "B19",
  "B21",
  "B25",
  "B26",
] as const;
export type BenchmarkId = (typeof BENCHMARKS)[number];

/** The title of figures of an idle node whose metrics are queried periodically. */
export const askedWith = (pods: number, everyMs: number): string =>
  `asked every ${everyMs / 1000} s, with ${pods} pods`;

export interface Goal {
  readonly benchmark: BenchmarkId;
  readonly figure: string;
  /** The maximum for Deckhand: a multiple of the Go kubelet's value, or an absolute value. */
  readonly limit: { readonly timesGo: number } | { readonly value: number };
}

export function goals({ idlePods, scrapedPods, scrapeEveryMs, execsAtOnce }: Size): readonly Goal[] {
  const most = Math.max(...idlePods);
  return [
    { benchmark: "B1", figure: "start p50", limit: { timesGo: 1 } },
    { benchmark: "B2", figure: "start with token p50", limit: { timesGo: 0.5 } },
    { benchmark: "B3", figure: "start with volumes p50", limit: { timesGo: 0.6 } },
    { benchmark: "B4", figure: "burst, last Ready", limit: { timesGo: 0.8 } },
    { benchmark: "B5", figure: "exit to running again p50", limit: { timesGo: 0.25 } },
    { benchmark: "B6", figure: "exit to status p50", limit: { timesGo: 0.2 } },
    { benchmark: "B7", figure: "delete to gone p50", limit: { timesGo: 0.4 } },
    { benchmark: "B7", figure: "with token, delete to gone p50", limit: { timesGo: 0.4 } },
    { benchmark: "B8", figure: "edit to file p50", limit: { value: 100 } },
    { benchmark: "B8", figure: "edit to file p99", limit: { value: 2_000 } },
    { benchmark: "B9", figure: `agent, idle with ${most} pods`, limit: { timesGo: 0.5 } },
    { benchmark: "B9", figure: `agent, ${askedWith(most, scrapeEveryMs)}`, limit: { timesGo: 0.7 } },
    { benchmark: "B10", figure: `RSS, ${askedWith(most, scrapeEveryMs)}`, limit: { timesGo: 1 } },
    ...idlePods.map((pods) => ({ benchmark: "B10", figure: `RSS with ${pods} pods`, limit: { timesGo: 1 } }) as const),
    { benchmark: "B11", figure: "requests per life", limit: { value: 9 } },
    { benchmark: "B13", figure: "at the node p50", limit: { timesGo: 1 } },
    { benchmark: "B13", figure: "through the API server p50", limit: { timesGo: 1 } },
    { benchmark: "B13", figure: `through the API server, last of ${execsAtOnce} at once`, limit: { timesGo: 1 } },
    { benchmark: "B14", figure: "lines of 100 bytes, per 10 MB", limit: { timesGo: 0.2 } },
    { benchmark: "B14", figure: "lines of 1 kB, per 10 MB", limit: { timesGo: 0.2 } },
    { benchmark: "B15", figure: "agent, for each HTTP probe", limit: { timesGo: 1 } },
    { benchmark: "B15", figure: "agent, for each TCP probe", limit: { timesGo: 1 } },
    { benchmark: "B15", figure: "probes that failed though all was well", limit: { value: 0 } },
    { benchmark: "B15", figure: "delay of the loop p99", limit: { value: 50 } },
    { benchmark: "B16", figure: "agent, for each exec probe", limit: { value: 0.5 } },
    { benchmark: "B18", figure: "restart to new pod Ready", limit: { timesGo: 0.7 } },
    { benchmark: "B19", figure: "network configuration removed to NotReady", limit: { value: 5_000 } },
    { benchmark: "B19", figure: "memory allocated to MemoryPressure", limit: { value: 5_000 } },
    { benchmark: "B19", figure: "disk filled to DiskPressure", limit: { value: 5_000 } },
    // As in the Go kubelet, a runtime is down when it has not answered for 30 s.
    { benchmark: "B19", figure: "runtime stopped to NotReady", limit: { value: 35_000 } },
    { benchmark: "B21", figure: "behind a big pull, last Ready", limit: { timesGo: 0.5 } },
    { benchmark: "B25", figure: "start to healthz p50", limit: { value: 500 } },
    { benchmark: "B26", figure: `/stats/summary with ${scrapedPods} pods p50`, limit: { timesGo: 0.2 } },
    { benchmark: "B26", figure: `/metrics/cadvisor with ${scrapedPods} pods p50`, limit: { timesGo: 0.2 } },
    { benchmark: "B26", figure: "RSS while asked", limit: { timesGo: 1 } },
  ];
}
