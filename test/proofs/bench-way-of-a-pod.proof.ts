/**
 * The benchmarks of the way of a pod. Small: figures come out for every benchmark and subject, and both agents show the same life. Whole: the
 * ratios to the Go kubelet, each against its goal; a goal that is missed fails its test and is in the report all the same.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { command } from "../cluster/command.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";

interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

interface Report {
  readonly rounds: readonly {
    readonly kind: string;
    readonly number: number;
    readonly loaded: boolean;
    readonly turns: readonly { readonly subject: string; readonly load: { readonly average: number } }[];
  }[];
  readonly table: readonly {
    readonly benchmark: string;
    readonly figure: string;
    readonly unit: string;
    readonly values: Readonly<Record<string, Spread | undefined>>;
    readonly toGo?: Spread;
    readonly goal?: { readonly limit: unknown; readonly reached: boolean };
  }[];
  readonly differences: readonly unknown[];
}

const BENCHMARKS = ["B1", "B4", "B5", "B6", "B7", "B9", "B10", "B11", "B13", "B18"];
const ONLY_AGENTS = ["B9", "B10", "B11", "B18"];
const LIMIT_MS = (wholeSize() ? 12 * 60 : 15) * 60_000;

describe("bench", () => {
  let folder = "";
  let report: Report;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "deckhand-bench-"));
    const file = join(folder, "report.json");
    const run = join(import.meta.dirname, "..", "..", "bench", "run.ts");
    await command(process.execPath, [run, ...(wholeSize() ? ["--whole"] : []), "--report", file, ...BENCHMARKS], {
      limitMs: LIMIT_MS,
    });
    report = JSON.parse(await readFile(file, "utf8")) as Report;
  });

  after(() => rm(folder, { recursive: true, force: true }));

  test("every benchmark has a figure of every subject that it is for", () => {
    for (const id of BENCHMARKS) {
      const [row] = report.table.filter(({ benchmark, goal }) => benchmark === id && goal !== undefined);
      assert.ok(row !== undefined, `${id} has no figure with a goal`);
      for (const subject of ONLY_AGENTS.includes(id) ? ["go", "deckhand"] : ["bare", "go", "deckhand"]) {
        const value: number = row.values[subject]?.median ?? Number.NaN;
        assert.ok(value > 0 || (id === "B9" && value === 0), `${id} of ${subject}: ${value}`);
      }
    }
    for (const { benchmark, figure: name, unit, values, toGo } of report.table) {
      for (const [subject, spread] of Object.entries(values)) {
        if (spread !== undefined) figure(`${benchmark} ${name}, ${subject}`, rounded(spread.median), unit);
      }
      if (toGo === undefined) continue;
      figure(`${benchmark} ${name}, Deckhand ÷ Go, median`, rounded(toGo.median), "×");
      figure(`${benchmark} ${name}, Deckhand ÷ Go, least`, rounded(toGo.min), "×");
      figure(`${benchmark} ${name}, Deckhand ÷ Go, most`, rounded(toGo.max), "×");
    }
    for (const { kind, number, loaded, turns } of report.rounds) {
      for (const { subject, load } of turns)
        figure(
          `load average, ${kind} round ${number}, ${subject}${loaded ? ", loaded" : ""}`,
          rounded(load.average),
          "",
        );
    }
  });

  test("a pod's life looks the same whichever agent runs it", () => {
    assert.deepEqual(report.differences, []);
  });

  if (wholeSize()) {
    for (const id of BENCHMARKS) {
      test(`${id} reaches its goal`, () => {
        const missed = report.table.filter(({ benchmark, goal }) => benchmark === id && goal?.reached === false);
        assert.deepEqual(
          missed.map(({ figure: name, toGo, values, goal }) => ({ name, toGo, own: values["deckhand"], goal })),
          [],
        );
      });
    }
  }
});

const rounded = (value: number) => Number(value.toPrecision(4));
