/**
 * Checks the compatibility ledger against the recorded runs, prints the coverage and writes the compatibility pages and
 * the status in the README: `npm run compat`. `npm run compat -- --check` checks that they are up to date instead.
 */
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { checkLedger } from "./compat/check.ts";
import { coverage, kinds } from "./compat/coverage.ts";
import { parseIds, parseLedger } from "./compat/ledger.ts";
import { AREA_DIRECTORY, compatibilityPages, statusSentence } from "./compat/page.ts";
import { type Age, describeAge } from "./compat/reports.ts";
import { withTextBetween } from "./marked-text.ts";
import { commitsSince, fingerprint, inRepository, isAncestor, repositoryRoot } from "./repository.ts";
import { scriptArguments } from "./script-arguments.ts";
import { ShapeError } from "./shape.ts";
import { parseRun, type RunRecord } from "./testing/run-record.ts";

const READMES = { en: "README.md", zh: "README.zh-CN.md" } as const;
const STATUS = { begin: "<!-- status: written by npm run compat -->", end: "<!-- /status -->" } as const;

const USAGE = `Usage: npm run compat [-- --check]

Checks compat/ledger.yaml against the recorded test runs and writes docs/compatibility.md, the pages of its areas and the
status in the READMEs.

  --check   write nothing: fail when a page is not up to date
`;

const print = (line: string) => process.stdout.write(`${line}\n`);

function main(): number {
  const { values } = scriptArguments(USAGE, { options: { check: { type: "boolean", default: false } } });
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
  const pages = new Map(compatibilityPages(ledger, rows));
  for (const language of ["en", "zh"] as const) {
    pages.set(READMES[language], withStatus(READMES[language], statusSentence(ledger, rows, language)));
  }
  if (!values.check) writePages(pages);
  const outdated = outdatedPages(pages);
  for (const problem of problems) print(`problem: ${problem}`);
  for (const path of outdated) print(`problem: ${path} is not up to date: run npm run compat and commit it`);
  return problems.length + outdated.length > 0 ? 1 : 0;
}

function withStatus(path: string, sentence: string): string {
  const page = existsSync(inRepository(path)) ? read(path) : "";
  return withTextBetween(page, { ...STATUS, name: path }, sentence);
}

const areaPages = (): readonly string[] => globSync(`${AREA_DIRECTORY}/**/*.md`, { cwd: repositoryRoot });

function writePages(pages: ReadonlyMap<string, string>): void {
  for (const path of areaPages()) if (!pages.has(path)) rmSync(inRepository(path));
  for (const [path, content] of pages) {
    mkdirSync(dirname(inRepository(path)), { recursive: true });
    writeFileSync(inRepository(path), content);
  }
}

const outdatedPages = (pages: ReadonlyMap<string, string>): readonly string[] => [
  ...[...pages].flatMap(([path, content]) => (existsSync(inRepository(path)) && read(path) === content ? [] : [path])),
  ...areaPages().filter((path) => !pages.has(path)),
];

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
