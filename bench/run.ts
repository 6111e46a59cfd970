/**
 * `npm run bench -- [--whole] [--report file] [--only bare,go,deckhand] [--rounds N] [--idle-seconds N] [--profile cpu|heap --profile-dir folder] [B1 B4 ...]`: the Go kubelet, Deckhand and a
 * bare CRI client in turns on one node; prints the ratio table. All benchmarks unless some are named.
 */
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { differences, ratioTable, tableText } from "./report.ts";
import { runRounds } from "./rounds.ts";
import { type Size, SMALL, WHOLE } from "./sizes.ts";
import { BENCHMARKS, type BenchmarkId, goals, SUBJECTS, type SubjectName } from "./subjects.ts";
import { inWorlds } from "./world.ts";

const USAGE_ERROR = 2;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      whole: { type: "boolean", default: false },
      report: { type: "string" },
      only: { type: "string" },
      rounds: { type: "string" },
      "idle-seconds": { type: "string" },
      profile: { type: "string" },
      "profile-dir": { type: "string", default: "." },
    },
  });
  const wanted = positionals.length === 0 ? BENCHMARKS : BENCHMARKS.filter((id) => positionals.includes(id));
  const subjects = SUBJECTS.filter((name) => values.only === undefined || values.only.split(",").includes(name));
  const unknown = positionals.filter((name) => !BENCHMARKS.includes(name as BenchmarkId));
  if (unknown.length > 0 || subjects.length === 0) {
    process.stderr.write(`there are the benchmarks ${BENCHMARKS.join(", ")} and the subjects ${SUBJECTS.join(", ")}\n`);
    return USAGE_ERROR;
  }
  const size = changed(values.whole ? WHOLE : SMALL, values.rounds, values["idle-seconds"]);
  const nodeFlags =
    values.profile === undefined
      ? []
      : [`--${values.profile}-prof`, `--${values.profile}-prof-dir=${values["profile-dir"]}`];
  const report = (line: string) => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
  const result = await measure(size, wanted, subjects, nodeFlags, report);
  process.stdout.write(tableText(result.table));
  for (const { what, shown } of result.differences) {
    const lines = Object.entries(shown).map(([subject, text]) => `  ${subject}: ${text}\n`);
    process.stdout.write(`DIFFERENT ${what}\n${lines.join("")}`);
  }
  if (values.report !== undefined) writeFileSync(values.report, `${JSON.stringify(result, undefined, 2)}\n`);
  return 0;
}

/** Shorter, or longer, than the size says: for a look, not for figures that are quoted. */
function changed(size: Size, rounds: string | undefined, idleSeconds: string | undefined): Size {
  const idleMs = idleSeconds === undefined ? size.idleMs : Number(idleSeconds) * 1000;
  return {
    ...size,
    rounds: rounds === undefined ? size.rounds : Number(rounds),
    idleRounds: rounds === undefined ? size.idleRounds : Number(rounds),
    idleMs,
    idleCountedMs: Math.min(size.idleCountedMs, idleMs / 2),
    idleSettleMs: Math.min(size.idleSettleMs, idleMs / 2),
    ...(rounds === undefined && idleSeconds === undefined ? {} : { repeatsMax: 0 }),
  };
}

async function measure(
  size: Size,
  wanted: readonly BenchmarkId[],
  subjects: readonly SubjectName[],
  nodeFlags: readonly string[],
  report: (line: string) => void,
) {
  const startedAt = new Date().toISOString();
  const loadBefore = loadavg()[0] ?? 0;
  let watchReopened = 0;
  const rounds = await runRounds({
    size,
    wanted,
    subjects,
    report,
    inWorlds: (nodes, act) =>
      inWorlds(nodes, { nodeFlags, report }, async (worlds) => {
        const result = await act(worlds);
        for (const { watcher } of worlds) watchReopened += watcher.reopened;
        return result;
      }),
  });
  return {
    startedAt,
    machine: { cores: cpus().length, model: cpus()[0]?.model ?? "", node: process.version, loadBefore },
    size,
    rounds,
    table: ratioTable(rounds, goals(size)),
    differences: differences(rounds),
    watchReopened,
  };
}

process.exitCode = await main();
