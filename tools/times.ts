/**
 * Prints where the last recorded run spent its time, beside the last committed record: `npm run times`. `npm run times
 * -- --record` writes `docs/gate-times.json` instead: seconds per step and per test file, with commit and load.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { inRepository } from "./repository.ts";
import { scriptArguments } from "./script-arguments.ts";
import { type GateTimes, gateTimes, parseGateTimes, timesReport } from "./testing/gate-times.ts";
import { parseRun, type RunRecord } from "./testing/run-record.ts";
import { suiteNames } from "./testing/suites.ts";

const RECORD = "docs/gate-times.json";
/** `.ci/run` writes one line per step: its name and its seconds. */
const STEPS = ".runs/steps.txt";

const USAGE = `Usage: npm run times [-- --record]

Prints where the last recorded run spent its time, beside the last committed record.

  --record   write docs/gate-times.json instead
`;

function main(): number {
  const { values } = scriptArguments(USAGE, { options: { record: { type: "boolean", default: false } } });
  const runs = suiteNames.flatMap((suite): readonly RunRecord[] => {
    const path = `.runs/${suite}.json`;
    return existsSync(inRepository(path)) ? [parseRun(read(path), path)] : [];
  });
  if (runs.length === 0) {
    process.stderr.write("no run is recorded in .runs: run `npm test` or `.ci/run` first\n");
    return 1;
  }
  const now = gateTimes(runs, existsSync(inRepository(STEPS)) ? read(STEPS) : "");
  if (values.record) writeFileSync(inRepository(RECORD), `${JSON.stringify(now, null, 2)}\n`);
  else process.stdout.write(timesReport(now, runs, committed()));
  return 0;
}

const read = (path: string): string => readFileSync(inRepository(path), "utf8");

const committed = (): GateTimes | undefined =>
  existsSync(inRepository(RECORD)) ? parseGateTimes(read(RECORD)) : undefined;

process.exitCode = main();
