/** Runs test files with node:test, prints a line per file and every failure in full, and returns the record. */
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";
import { currentCommit, fingerprint, hostFacts, inRepository, isDirty, repositoryRoot } from "../repository.ts";
import { Collector, type FileResult, isWholeFile, type TestResult } from "./collector.ts";
import { OverdueFiles } from "./overdue.ts";
import { filesAtOnce } from "./pace.ts";
import { countsLine, countTests, type RunRecord, succeeded, type TestRecord } from "./run-record.ts";
import { StartedParts } from "./started-parts.ts";
import type { Batch } from "./suites.ts";

interface RunOptions {
  readonly suite: string;
  /** Batches run one after the other; their files are relative to the repository. */
  readonly batches: readonly Batch[];
  readonly fileLimitMs: number;
  readonly isDeterministic: boolean;
  readonly env: Readonly<Record<string, string>>;
  /** Shows the files' output while they run, not only when a file fails. */
  readonly verbose: boolean;
  readonly print: (text: string) => void;
}

const WITHOUT_PROMISE_HOOK = new URL("without-promise-hook.ts", import.meta.url).href;

/** Node's compile cache for our sources: parsing them again would be half of the cost of a test process. */
export const compiledCode = (): string =>
  join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "deckhand", "compiled");

export async function runFiles(options: RunOptions): Promise<RunRecord> {
  const { suite, batches, fileLimitMs, isDeterministic, env, verbose, print } = options;
  const about = {
    suite,
    commit: currentCommit(),
    dirty: isDirty(),
    startedAt: new Date().toISOString(),
    node: process.version,
    host: hostFacts(),
  };
  const startedMs = performance.now();
  const results: FileResult[] = [];
  using parts = new StartedParts();
  const runBatch = async ({ files, concurrency }: Batch): Promise<void> => {
    if (files.length === 0) return;
    const events: AsyncIterable<TestEvent> = run({
      files: files.map(inRepository),
      cwd: repositoryRoot,
      concurrency: isDeterministic ? concurrency : filesAtOnce(concurrency, about.host.fixedWorkMs),
      execArgv: isDeterministic ? [`--import=${WITHOUT_PROMISE_HOOK}`] : [],
      env: { ...process.env, NODE_COMPILE_CACHE: compiledCode(), ...parts.env, ...env },
    });
    const collector = new Collector();
    const overdue = new OverdueFiles(fileLimitMs, (file) =>
      collector.note(file, `ended from outside: it ran for more than ${fileLimitMs / 1000} s`),
    );
    for await (const event of events) {
      if (event.type === "test:dequeue" && isWholeFile(event.data)) overdue.begin(event.data.name);
      if (verbose && (event.type === "test:stdout" || event.type === "test:stderr")) print(event.data.message);
      const result = collector.take(event);
      if (result === undefined) continue;
      overdue.end(result.file);
      results.push(result);
      print(describeFile(result, verbose));
    }
  };
  for (const batch of batches) await runBatch(batch);
  const tests = results.flatMap((result) => result.tests.map((test) => recordOf(test, result.file)));
  return {
    ...about,
    seconds: rounded((performance.now() - startedMs) / 1000),
    files: fingerprints(tests.flatMap(({ file, definedIn }) => (definedIn === undefined ? [file] : [file, definedIn]))),
    fileSeconds: Object.fromEntries(
      results.map(({ file, seconds }) => [relative(repositoryRoot, file), rounded(seconds)]),
    ),
    startedParts: parts.byFile(),
    tests,
    figures: results.flatMap((result) => result.figures),
  };
}

function recordOf({ name, definedIn, seconds, verdict }: TestResult, ranFrom: string): TestRecord {
  const file = relative(repositoryRoot, ranFrom);
  const definition = relative(repositoryRoot, definedIn);
  return {
    name,
    file,
    ...(definition === file ? {} : { definedIn: definition }),
    passed: verdict.kind === "passed",
    ...(verdict.kind === "skipped" ? { skipped: true } : {}),
    seconds: rounded(seconds),
  };
}

function fingerprints(files: readonly string[]): Record<string, string> {
  const unique = [...new Set(files)].toSorted();
  return Object.fromEntries(unique.flatMap((file) => [[file, fingerprint(file) ?? ""]]));
}

const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000;

function describeFile({ file, seconds, tests, output }: FileResult, outputWasShown: boolean): string {
  const counts = countTests(tests.map((test) => recordOf(test, file)));
  const ok = succeeded(counts);
  const lines = [
    `${ok ? "ok  " : "FAIL"} ${relative(repositoryRoot, file)}  ${seconds.toFixed(1)} s  ${countsLine(counts)}`,
  ];
  for (const { name, verdict } of tests) {
    if (verdict.kind === "skipped") lines.push(`  skipped: ${name}`);
    if (verdict.kind === "failed") lines.push(`  failed: ${name}`, indent(describeError(verdict.error)));
  }
  if (!ok && !outputWasShown && output !== "") lines.push("  it printed:", indent(output.trimEnd()));
  return `${lines.join("\n")}\n`;
}

const describeError = (error: unknown): string => (typeof error === "string" ? error : inspect(error, { depth: 6 }));

const indent = (text: string): string => text.replaceAll(/^/gm, "    ");
