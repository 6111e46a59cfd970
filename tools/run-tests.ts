/**
 * Runs a suite and records it:
 * `node tools/run-tests.ts unit|simulator|integration|harness|guest [--verbose] [--again] [part of a path ...]`. The
 * last line is the count. The record is written to `.runs/<suite>.json`, where `npm run compat` finds it. `--total`
 * runs nothing: it counts the tests in the records of this commit and names every test that passed only on a second
 * try.
 *
 * With `--again` a failed file runs a second time, alone, after all others, and the second result counts: the machine
 * is shared. Unit and simulator tests are deterministic and get no second try.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { currentCommit, inRepository, repositoryRoot } from "./repository.ts";
import { scriptArguments, usageError } from "./script-arguments.ts";
import { runFiles } from "./testing/run-files.ts";
import {
  countsLine,
  countTests,
  mergeRuns,
  parseRun,
  type RunRecord,
  succeeded,
  type TestRecord,
} from "./testing/run-record.ts";
import { type Batch, type SuiteName, suiteBatches, suiteNames, suites } from "./testing/suites.ts";

/** When the shared machine stalls, all running files fail: four. More failed files than this have a common cause. */
const AGAIN_MAX = 5;

const USAGE = `Usage: npm test [-- PART ...]
       npm run test:SUITE [-- [--verbose] [--again] [PART ...]]
       node tools/run-tests.ts --total

Runs the test files of a suite, or those whose path contains a PART, and records the results in .runs. The suites are
unit (npm test), simulator, integration, harness and guest.

  --verbose   print every test
  --again     run a failed file a second time, alone, after all others
  --total     run nothing: count the tests in the records of this commit
`;

async function main(): Promise<number> {
  const { values, positionals } = scriptArguments(USAGE, {
    allowPositionals: true,
    options: {
      verbose: { type: "boolean", default: false },
      again: { type: "boolean", default: false },
      total: { type: "boolean", default: false },
    },
  });
  if (values.total) return total();
  const [name, ...filters] = positionals;
  const suiteName = suiteNames.find((known) => known === name);
  if (suiteName === undefined) {
    return usageError(`the suites are ${suiteNames.join(", ")}`);
  }
  const suite = suites[suiteName];
  if (values.again && suite.isDeterministic) {
    return usageError(`the tests of ${suiteName} are deterministic and get no second try`);
  }
  const run = (batches: readonly Batch[]) =>
    runFiles({
      suite: suiteName,
      batches,
      fileLimitMs: suite.fileLimitMs,
      isDeterministic: suite.isDeterministic,
      env: {},
      verbose: values.verbose,
      print: (text) => process.stdout.write(text),
    });
  const first = await run(suiteBatches(suite, repositoryRoot, filters));
  const record = values.again ? await withSecondTries(first, run) : first;
  save(suiteName, filters.length === 0 ? record : mergeRuns(load(suiteName), record));
  return finish(record.tests);
}

async function withSecondTries(
  first: RunRecord,
  run: (batches: readonly Batch[]) => Promise<RunRecord>,
): Promise<RunRecord> {
  const failed = first.tests.filter(({ passed, skipped }) => !passed && skipped !== true);
  const files = [...new Set(failed.map(({ file }) => file))];
  if (files.length === 0 || files.length > AGAIN_MAX) return first;
  process.stdout.write(`second try: ${files.join(", ")}\n`);
  const record = mergeRuns(first, await run([{ files, concurrency: 1 }]));
  const secondTries = files.flatMap((file) => passedOnlyNow(file, failed, record.tests));
  printSecondTries(secondTries);
  return { ...record, secondTries };
}

/**
 * node:test reports the tests of a suite whose hook failed without the suite's name, so none of them passes by that
 * name. Then the file is named instead.
 */
function passedOnlyNow(file: string, failed: readonly TestRecord[], now: readonly TestRecord[]): readonly string[] {
  const ofFile = now.filter((test) => test.file === file);
  const passed = new Set(ofFile.filter((test) => test.passed).map(({ name }) => name));
  const names = failed.filter((test) => test.file === file && passed.has(test.name)).map(nameOf);
  return names.length === 0 && ofFile.every((test) => test.passed) ? [file] : names;
}

function printSecondTries(names: readonly string[]): void {
  for (const name of names) process.stdout.write(`passed only on the second try: ${name}\n`);
}

function total(): number {
  const secondTries = suiteNames.flatMap((suite) => load(suite)?.secondTries ?? []);
  const tests = suiteNames.flatMap(testsOfThisCommit);
  printSecondTries(secondTries);
  process.stdout.write(`second tries: ${secondTries.length}\n`);
  return finish(tests);
}

const nameOf = ({ file, name }: TestRecord): string => `${file}: ${name}`;

function finish(tests: readonly TestRecord[]): number {
  const counts = countTests(tests);
  process.stdout.write(`${countsLine(counts)}\n`);
  return succeeded(counts) ? 0 : 1;
}

/** A suite that has not run on this commit counts as one failure, so that the total does not hide it. */
function testsOfThisCommit(suite: SuiteName): readonly TestRecord[] {
  const record = load(suite);
  if (record?.commit === currentCommit()) return record.tests;
  process.stdout.write(`${suite} has not run on this commit\n`);
  return [{ name: `${suite} has not run`, file: "", passed: false, seconds: 0 }];
}

const recordPath = (suite: SuiteName): string => inRepository(`.runs/${suite}.json`);

function load(suite: SuiteName): RunRecord | undefined {
  try {
    return parseRun(readFileSync(recordPath(suite), "utf8"), recordPath(suite));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

function save(suite: SuiteName, record: RunRecord): void {
  mkdirSync(dirname(recordPath(suite)), { recursive: true });
  writeFileSync(recordPath(suite), `${JSON.stringify(record, null, 2)}\n`);
}

process.exitCode = await main();
