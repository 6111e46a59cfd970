/** Runs `npm run bench` once for a test, reports its measurements, and compares them with the goals. */
import { readFile } from "node:fs/promises";
import { inRepository } from "../../tools/repository.ts";
import { scratch } from "../../tools/scratch.ts";
import { command } from "../cluster/command.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";

interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

interface Row {
  readonly benchmark: string;
  readonly figure: string;
  readonly unit: string;
  readonly values: Readonly<Record<string, Spread | undefined>>;
  readonly toGo?: Spread;
  readonly goal?: { readonly limit: unknown; readonly reached: boolean };
}

export interface BenchReport {
  readonly rounds: readonly {
    readonly kind: string;
    readonly number: number;
    readonly loaded: boolean;
    readonly turns: readonly { readonly subject: string; readonly load: { readonly average: number } }[];
  }[];
  readonly table: readonly Row[];
  readonly differences: readonly unknown[];
}

export async function bench(benchmarks: readonly string[], limitMs: number): Promise<BenchReport> {
  using directory = scratch();
  const file = directory.path("report.json");
  const size = wholeSize() ? ["--whole"] : [];
  await command(process.execPath, [inRepository("bench/run.ts"), ...size, "--report", file, ...benchmarks], {
    limitMs,
  });
  return JSON.parse(await readFile(file, "utf8")) as BenchReport;
}

export function tellFigures({ table, rounds }: BenchReport): void {
  for (const { benchmark, figure: name, unit, values, toGo } of table) {
    for (const [subject, spread] of Object.entries(values)) {
      if (spread !== undefined) figure(`${benchmark} ${name}, ${subject}`, rounded(spread.median), unit);
    }
    if (toGo === undefined) continue;
    figure(`${benchmark} ${name}, Deckhand ÷ Go, median`, rounded(toGo.median), "×");
    figure(`${benchmark} ${name}, Deckhand ÷ Go, least`, rounded(toGo.min), "×");
    figure(`${benchmark} ${name}, Deckhand ÷ Go, most`, rounded(toGo.max), "×");
  }
  for (const { kind, number, loaded, turns } of rounds) {
    for (const { subject, load } of turns) {
      const name = `load average, ${kind} round ${number}, ${subject}${loaded ? ", loaded" : ""}`;
      figure(name, rounded(load.average), "");
    }
  }
}

/** The missed goals of a benchmark, with the measured values. */
export const missedGoals = ({ table }: BenchReport, id: string) =>
  table
    .filter(({ benchmark, goal }) => benchmark === id && goal?.reached === false)
    .map(({ figure: name, toGo, values, goal }) => ({ name, toGo, own: values["deckhand"], goal }));

const rounded = (value: number) => Number(value.toPrecision(4));
