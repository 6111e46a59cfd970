/**
 * Collects the seconds of a gate run by step and by test file, and compares them with the committed record in a report.
 */
import { fields, number, optional, parseJson, record, text } from "../shape.ts";
import type { RunRecord } from "./run-record.ts";

export interface GateTimes {
  readonly commit: string;
  readonly startedAt: string;
  /** Load average over one minute when the first suite began. */
  readonly load: number;
  /** See `HostFacts`: it distinguishes a slower gate from a slower machine. */
  readonly fixedWorkMs?: number;
  /** Seconds of the steps of `.ci/run`, in order. */
  readonly steps: Readonly<Record<string, number>>;
  /** Maps a test file to the seconds from the start of its process to its exit. */
  readonly files: Readonly<Record<string, number>>;
}

const SLOWEST = 25;

/** `steps` has one line per step: its name, a space, its seconds. */
export function gateTimes(runs: readonly RunRecord[], steps: string): GateTimes {
  const [first, ...others] = runs.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));
  if (first === undefined) throw new Error("no run to take times from");
  const files = [first, ...others].flatMap((run) => Object.entries(run.fileSeconds ?? {}));
  return {
    commit: first.commit,
    startedAt: first.startedAt,
    load: first.host.load,
    ...(first.host.fixedWorkMs === undefined ? {} : { fixedWorkMs: first.host.fixedWorkMs }),
    steps: Object.fromEntries(
      steps
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => {
          const [name = "", seconds] = line.split(" ");
          return [name, Number(seconds)];
        }),
    ),
    files: Object.fromEntries(files.toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

export function parseGateTimes(source: string): GateTimes {
  const times = fields(parseJson(source), "gate times");
  const fixedWorkMs = optional(times["fixedWorkMs"], "fixedWorkMs", number);
  return {
    commit: text(times["commit"], "commit"),
    startedAt: text(times["startedAt"], "startedAt"),
    load: number(times["load"], "load"),
    ...(fixedWorkMs === undefined ? {} : { fixedWorkMs }),
    steps: record(times["steps"], "steps", number),
    files: record(times["files"], "files", number),
  };
}

/** Lists the steps, then the slowest files: seconds in total, in tests, in hooks, and in the committed record. */
export function timesReport(now: GateTimes, runs: readonly RunRecord[], before: GateTimes | undefined): string {
  const inTests = new Map<string, number>();
  for (const { file, seconds } of runs.flatMap((run) => run.tests)) {
    inTests.set(file, (inTests.get(file) ?? 0) + seconds);
  }
  const compared = before === undefined ? "no committed record" : `committed: ${about(before)}`;
  const step = ([name, seconds]: readonly [string, number]) => row(name, [seconds, before?.steps[name]].map(inSeconds));
  const file = ([name, seconds]: readonly [string, number]) => {
    const tests = Math.min(inTests.get(name) ?? 0, seconds);
    return row(name, [seconds, tests, seconds - tests, before?.files[name]].map(inSeconds));
  };
  const slowest = Object.entries(now.files).toSorted(([, a], [, b]) => b - a);
  const sum = slowest.reduce((total, [, seconds]) => total + seconds, 0);
  return [
    `this run: ${about(now)}; ${compared}`,
    "",
    row("step", ["seconds", "committed"]),
    ...Object.entries(now.steps).map(step),
    "",
    `${slowest.length} test files, ${inSeconds(sum)} s together; the slowest:`,
    row("file", ["seconds", "tests", "hooks", "committed"]),
    ...slowest.slice(0, SLOWEST).map(file),
    "",
  ].join("\n");
}

const about = ({ commit, startedAt, load, fixedWorkMs }: GateTimes): string =>
  `${commit.slice(0, 10)}, ${startedAt}, load ${load.toFixed(1)}, fixed work ${fixedWorkMs ?? "-"} ms`;

const inSeconds = (seconds: number | undefined): string => (seconds === undefined ? "-" : seconds.toFixed(1));

const row = (name: string, cells: readonly string[]): string =>
  [name.padEnd(62), ...cells.map((cell) => cell.padStart(10))].join("").trimEnd();
