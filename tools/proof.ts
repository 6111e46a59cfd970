/**
 * Runs a proof at its whole size and writes its report: `npm run proof -- <name> [part of a path ...] [--seed N]
 * [--try]`. Without a name it lists the proofs. A report names a commit, so the tree must be clean; `--try` runs on any
 * tree and writes no report. With parts of paths only the matching files run. Their results replace those in the
 * report; the report lists each file with its own commit.
 */
import { randomInt } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { inRepository, isDirty, repositoryRoot } from "./repository.ts";
import { scriptArguments } from "./script-arguments.ts";
import { fields, parseJson, text } from "./shape.ts";
import { proofBatches, proofEnvironment, proofNames } from "./testing/proof-files.ts";
import { directRequirements, joinReports, parseReport, proofPage } from "./testing/proof-report.ts";
import { runFiles } from "./testing/run-files.ts";
import { countsLine, countTests, succeeded } from "./testing/run-record.ts";

const USAGE = `Usage: npm run proof [-- NAME [PART ...] [--seed N] [--try]]

Runs a proof at its whole size and writes its report to docs/proofs. With PARTs of paths only the matching files run, and
their results replace those in the report. Without a name it lists the proofs.

  --seed N   seed of the proof's random numbers (default: a random one)
  --try      run on a tree with uncommitted changes and write no report
`;

const LIMIT_MS = 24 * 60 * 60_000;

async function main(): Promise<number> {
  const { values, positionals } = scriptArguments(USAGE, {
    allowPositionals: true,
    options: { seed: { type: "string" }, try: { type: "boolean", default: false } },
  });
  const known = proofNames();
  const [name, ...filters] = positionals;
  if (name === undefined) {
    process.stdout.write(known.map((each) => `${each}\n`).join(""));
    return 0;
  }
  if (!known.includes(name)) return refuse(`there is no proof "${name}"; known: ${known.join(", ")}`);
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
  if (!Number.isSafeInteger(seed)) return refuse(`--seed must be a whole number, found "${values.seed}"`);
  if (!values.try && isDirty()) {
    return refuse("the tree has changes that no commit holds: commit them, or use --try to write no report");
  }
  const batches = proofBatches(name);
  const isWanted = (file: string) => filters.length === 0 || filters.some((filter) => file.includes(filter));
  const record = await runFiles({
    suite: `proof:${name}`,
    batches: batches.map((batch) => ({ ...batch, files: batch.files.filter(isWanted) })),
    fileLimitMs: LIMIT_MS,
    isDeterministic: false,
    env: { DECKHAND_SIZE: "whole", DECKHAND_SEED: String(seed), ...proofEnvironment(name) },
    verbose: true,
    print: (line) => process.stdout.write(line),
  });
  for (const figure of record.figures) process.stdout.write(`${figure.name}: ${figure.value} ${figure.unit}\n`);
  if (!values.try) {
    const path = inRepository(`docs/proofs/${name}.json`);
    const earlier = filters.length > 0 && existsSync(path) ? parseReport(readFileSync(path, "utf8"), path) : undefined;
    const report = joinReports(earlier, { ...record, seed, versions: versions() });
    mkdirSync(inRepository("docs/proofs"), { recursive: true });
    writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
    const files = batches.flatMap((batch) => batch.files);
    writeFileSync(inRepository(`docs/proofs/${name}.md`), proofPage(name, report, files));
  }
  const counts = countTests(record.tests);
  process.stdout.write(`${countsLine(counts)}\n`);
  return succeeded(counts) ? 0 : 1;
}

function refuse(reason: string): number {
  process.stderr.write(`${reason}\n`);
  return 2;
}

function versions(): Readonly<Record<string, string>> {
  const manifest = fields(parseJson(readFileSync(inRepository("package.json"), "utf8")), "package.json");
  const goMods = globSync("test/cluster/parts/*/go.mod", { cwd: repositoryRoot }).toSorted();
  const parts = goMods.map((path) => directRequirements(readFileSync(inRepository(path), "utf8")));
  const pinned = Object.fromEntries(parts.flatMap((part) => Object.entries(part)));
  return { deckhand: text(manifest["version"], "version"), ...pinned };
}

process.exitCode = await main();
