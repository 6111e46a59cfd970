/**
 * Records responses of the Go kubelet: `npm run record -- <suite> [--runs N] [--add]`. Runs
 * `test/<directory>/<suite>.test.ts` N times (default 3) with the Go kubelet on the real parts.
 * `test/golden/go-1.36.4/<suite>.jsonl` then contains the distinct responses. `--add` keeps the responses that the file
 * already contains. A failed run is reported and ends the recording.
 */
import { spawnSync } from "node:child_process";
import { globSync, rmSync } from "node:fs";
import { inRepository, repositoryRoot } from "./repository.ts";
import { scriptArguments, usageError } from "./script-arguments.ts";
import { compiledCode } from "./testing/run-files.ts";

const USAGE = `Usage: npm run record -- SUITE [--runs N] [--add]

Runs test/*/SUITE.test.ts with the Go kubelet and keeps its distinct responses in test/golden/go-1.36.4/SUITE.jsonl.

  --runs N   number of runs (default 3)
  --add      keep the responses that the file already contains
`;

function main(): number {
  const { values, positionals } = scriptArguments(USAGE, {
    allowPositionals: true,
    options: { runs: { type: "string", default: "3" }, add: { type: "boolean", default: false } },
  });
  const [suite] = positionals;
  const [file] =
    suite === undefined ? [] : globSync(`test/{integration,guest}/${suite}.test.ts`, { cwd: repositoryRoot });
  if (suite === undefined || file === undefined) {
    return usageError("expected the name of a suite below test/integration or test/guest");
  }
  if (!values.add) rmSync(inRepository(`test/golden/go-1.36.4/${suite}.jsonl`), { force: true });
  for (let run = 1; run <= Number(values.runs); run += 1) {
    process.stdout.write(`${suite}: run ${run} of ${values.runs}\n`);
    const { status } = spawnSync(process.execPath, ["--test", "--test-reporter=dot", file], {
      cwd: repositoryRoot,
      stdio: "inherit",
      env: { ...process.env, DECKHAND_COMPARISON: "record", NODE_COMPILE_CACHE: compiledCode() },
    });
    if (status !== 0) return 1;
  }
  return 0;
}

process.exitCode = main();
