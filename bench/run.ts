/**
 * The Go kubelet, Deckhand and a bare CRI client in turns on one node; prints the ratio table. With `--against`,
 * Deckhand and the build of that commit; prints how they differ.
 */
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { buildCommit, commitNamed } from "../tools/build/commit.ts";
import { scriptArguments, usageError } from "../tools/script-arguments.ts";
import { BENCHMARKS, type BenchmarkId, candidatesOf, goals, selectable } from "./candidates.ts";
import { comparisonText, differences, ratioTable, ratioText } from "./report.ts";
import { type Plan, runRounds } from "./rounds.ts";
import { type Size, SMALL, WHOLE } from "./sizes.ts";
import { inWorlds, type WorldOptions } from "./world.ts";

const USAGE = `Usage: npm run bench -- [flags] [BENCHMARK ...]

Measures the Go kubelet, Deckhand and a bare CRI client in turns on one node and prints how they compare. Benchmarks, all
without a name: ${BENCHMARKS.join(", ")}.

  --whole               the whole size instead of the small one
  --only NAME,...       only these candidates: ${selectable(true).join(", ")} (before only with --against)
  --against COMMIT      compare Deckhand with the build of this commit
  --rounds N            number of rounds
  --idle-seconds N      duration of the idle benchmarks; CPU is counted in the second half of it
  --report FILE         write the measurements to this file, too
  --profile cpu|heap    profile the agent
  --profile-dir DIR     where profiles are written (default .)
`;

async function main(): Promise<number> {
  const { values, positionals } = scriptArguments(USAGE, {
    allowPositionals: true,
    options: {
      whole: { type: "boolean", default: false },
      report: { type: "string" },
      only: { type: "string" },
      against: { type: "string" },
      rounds: { type: "string" },
      "idle-seconds": { type: "string" },
      profile: { type: "string" },
      "profile-dir": { type: "string", default: "." },
    },
  });
  const wanted = positionals.length === 0 ? BENCHMARKS : BENCHMARKS.filter((id) => positionals.includes(id));
  const { against } = values;
  const commit = against === undefined ? undefined : commitNamed(against);
  if (against !== undefined && commit === undefined) return usageError(`this repository has no commit "${against}"`);
  const candidates = candidatesOf(values.only, against !== undefined);
  if (candidates === undefined) {
    const hint = against === undefined ? "" : `, and --against needs "before"`;
    return usageError(`the candidates are ${selectable(against !== undefined).join(", ")}${hint}`);
  }
  if (positionals.some((name) => !BENCHMARKS.includes(name as BenchmarkId))) {
    return usageError(`the benchmarks are ${BENCHMARKS.join(", ")}`);
  }
  const size = changed(values.whole ? WHOLE : SMALL, values.rounds, values["idle-seconds"]);
  const nodeFlags =
    values.profile === undefined
      ? []
      : [`--${values.profile}-prof`, `--${values.profile}-prof-dir=${values["profile-dir"]}`];
  const report = (line: string) => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
  if (commit !== undefined) report(`building ${commit}`);
  // Builds before any cluster is up: when the build fails, nothing has to be torn down.
  const before = commit === undefined ? undefined : buildCommit(commit);
  const result = await measure({ size, wanted, candidates, report }, { nodeFlags, before, report });
  if (commit === undefined || candidates.includes("go") || candidates.includes("bare")) {
    process.stdout.write(ratioText(result.table));
  }
  if (commit !== undefined) process.stdout.write(comparisonText(result.table));
  for (const { what, shown } of result.differences) {
    const lines = Object.entries(shown).map(([candidate, text]) => `  ${candidate}: ${text}\n`);
    process.stdout.write(`DIFFERENT ${what}\n${lines.join("")}`);
  }
  if (values.report !== undefined) {
    writeFileSync(values.report, `${JSON.stringify({ against: commit, ...result }, undefined, 2)}\n`);
  }
  return 0;
}

/** Shorter or longer than the size says: for a quick look, not for numbers that are quoted. */
function changed(size: Size, rounds: string | undefined, idleSeconds: string | undefined): Size {
  const idleMs = idleSeconds === undefined ? size.idleMs : Number(idleSeconds) * 1000;
  return {
    ...size,
    rounds: rounds === undefined ? size.rounds : Number(rounds),
    idleRounds: rounds === undefined ? size.idleRounds : Number(rounds),
    idleMs,
    idleCountedMs: idleSeconds === undefined ? size.idleCountedMs : Math.min(WHOLE.idleCountedMs, idleMs / 2),
    idleSettleMs: Math.min(size.idleSettleMs, idleMs / 2),
    ...(rounds === undefined && idleSeconds === undefined ? {} : { repeatsMax: 0 }),
  };
}

async function measure(plan: Omit<Plan, "inWorlds">, options: WorldOptions) {
  const startedAt = new Date().toISOString();
  const loadBefore = loadavg()[0] ?? 0;
  let watchReopened = 0;
  const rounds = await runRounds({
    ...plan,
    inWorlds: (nodes, act) =>
      inWorlds(nodes, options, async (worlds) => {
        const result = await act(worlds);
        for (const { watcher } of worlds) watchReopened += watcher.reopened;
        return result;
      }),
  });
  return {
    startedAt,
    machine: { cores: cpus().length, model: cpus()[0]?.model ?? "", node: process.version, loadBefore },
    size: plan.size,
    rounds,
    table: ratioTable(rounds, goals(plan.size)),
    differences: differences(rounds),
    watchReopened,
  };
}

process.exitCode = await main();
