/**
 * Checks the compatibility ledger against the recorded runs, prints the coverage and writes docs/compatibility.md:
 * `npm run compat`, or `npm run compat -- --check` to find the page up to date instead of writing it.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { checkLedger } from "./compat/check.ts";
import { coverage, kinds } from "./compat/coverage.ts";
import { parseIds, parseLedger } from "./compat/ledger.ts";
import { compatibilityPage } from "./compat/page.ts";
import { type Age, describeAge } from "./compat/reports.ts";
import { commitsSince, fingerprint, inRepository, isAncestor, repositoryRoot } from "./repository.ts";
import { ShapeError } from "./shape.ts";
import { parseRun, type RunRecord } from "./testing/run-record.ts";

const PAGE = "docs/compatibility.md";

const print = (line: string) => process.stdout.write(`${line}\n`);

function main(): number {
  const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
  const ledger = parseLedger(read("compat/ledger.yaml"));
  const runs = readRuns();
  for (const { file, run } of runs) print(describeRun(file, run));
  const { rows, problems } = checkLedger(
    ledger,
    parseIds(read("compat/ids.yaml")),
    runs.map(({ run }) => run),
    fingerprint,
  );
  for (const { row, staleProofs } of rows) {
    for (const { proof, changed } of staleProofs)
      print(`stale: ${row.id}: ${proof}: ${changed.join(", ")} changed since`);
  }
  for (const { label, total, counts, donePercent } of coverage(rows)) {
    const parts = kinds.map((kind) => `${counts[kind]} ${kind}`).join(", ");
    print(`${label.padEnd(8)} ${String(total).padStart(3)} rows: ${parts} (${donePercent.toFixed(1)} % done)`);
  }
  const page = compatibilityPage(ledger, rows);
  const outdated = values.check && (!existsSync(inRepository(PAGE)) || read(PAGE) !== page);
  if (!values.check) writeFileSync(inRepository(PAGE), page);
  for (const problem of problems) print(`problem: ${problem}`);
  if (outdated) print(`problem: ${PAGE} is not up to date: run npm run compat and commit it`);
  return problems.length > 0 || outdated ? 1 : 0;
}

const ageOf = (commit: string): Age | undefined =>
  isAncestor(commit) ? { commits: commitsSince(commit), sourceCommits: commitsSince(commit, "src") } : undefined;

const read = (path: string): string => readFileSync(inRepository(path), "utf8");

function readRuns(): readonly { readonly file: string; readonly run: RunRecord }[] {
  const files = globSync([".runs/*.json", "docs/proofs/*.json"], { cwd: repositoryRoot }).toSorted();
  return files.map((file) => ({ file, run: parseRun(read(file), file) }));
}

function describeRun(file: string, run: RunRecord): string {
  const passed = run.tests.filter((test) => test.passed).length;
  const dirty = run.dirty ? ", with uncommitted changes" : "";
  return `${basename(file)}: ${run.commit.slice(0, 10)}, ${describeAge(ageOf(run.commit))}${dirty}: ${passed} of ${run.tests.length} tests passed`;
}

try {
  process.exitCode = main();
} catch (error) {
  if (!(error instanceof ShapeError)) throw error;
  print(`problem: ${error.message}`);
  process.exitCode = 1;
}
