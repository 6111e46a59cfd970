/**
 * Runs comparison suites on a copy of the repository in which one file is mutated. The agent under test is started from
 * the copy, because a test cluster starts the sources next to itself.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { git, repositoryRoot } from "../../tools/repository.ts";
import { DIFFERS_FROM_RECORDING } from "../golden/recording.ts";
import type { Mutant, Mutation } from "./mutant.ts";
import type { Outcome } from "./outcome-reporter.ts";

/** The part of a suite that runs. */
export type Selection = Pick<Mutant, "suite" | "cases" | "tests">;

/** Far more than any selection needs. */
const LIMIT_MS = 240_000;
const OUTPUT_SHOWN = 2_000;

export class MutatedCopy implements Disposable {
  readonly #root = mkdtempSync(join(tmpdir(), "deckhand-mutants-"));

  constructor() {
    const files = git("ls-files", "--cached", "--others", "--exclude-standard").split("\n");
    for (const file of files) {
      mkdirSync(dirname(join(this.#root, file)), { recursive: true });
      cpSync(join(repositoryRoot, file), join(this.#root, file));
    }
    symlinkSync(join(repositoryRoot, "node_modules"), join(this.#root, "node_modules"));
  }

  [Symbol.dispose](): void {
    rmSync(this.#root, { recursive: true, force: true });
  }

  /**
   * Runs the mutant's suite with the mutant's mistake in the code and returns the outcomes. The source is restored
   * afterwards.
   */
  async runMutant(mutant: Mutant): Promise<readonly Outcome[]> {
    const path = join(this.#root, mutant.file);
    const source = readFileSync(path, "utf8");
    writeFileSync(path, mutated(source, mutant));
    try {
      return await this.run(mutant);
    } finally {
      writeFileSync(path, source);
    }
  }

  async run({ suite, cases, tests }: Selection): Promise<readonly Outcome[]> {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const args = ["--test", "--test-reporter=./test/mutants/outcome-reporter.ts"];
    if (tests !== undefined) args.push(`--test-name-pattern=${tests}`);
    const child = spawn(process.execPath, [...args, `test/integration/${suite}.test.ts`], {
      cwd: this.#root,
      env: {
        ...env,
        DECKHAND_COMPARISON: "recorded",
        DECKHAND_CASES: cases,
        DECKHAND_SIZE: "small",
        // Inside the copy, so that it is deleted with the copy.
        NODE_COMPILE_CACHE: join(this.#root, "compiled"),
      },
      stdio: ["ignore", "pipe", "pipe"],
      signal: AbortSignal.timeout(LIMIT_MS),
      killSignal: "SIGTERM",
    });
    const ended = new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", () => resolve());
    });
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    const outcomes = outcomesIn(output);
    assert.ok(outcomes.length > 0, `${suite} ran no test: ${(output + errors).slice(-OUTPUT_SHOWN)}`);
    return outcomes;
  }
}

export function mutated(source: string, { name, file, find, replace }: Mutation): string {
  const found = source.split(find).length - 1;
  assert.equal(found, 1, `${name}: ${file} holds the text ${found} times: ${find}`);
  assert.notEqual(find, replace, name);
  return source.replace(find, () => replace);
}

export const outcomesIn = (output: string): readonly Outcome[] =>
  output
    .split("\n")
    .filter((line) => line.startsWith('{"name":'))
    .map((line) => JSON.parse(line) as Outcome);

/** Whether a test failed because the Go kubelet never gives Deckhand's answer. A crash or a timeout does not count. */
export const differs = ({ passed, message }: Outcome): boolean => !passed && message.includes(DIFFERS_FROM_RECORDING);

/** Merges several selections into one: every case and every test that any of them names. */
export function joined(selections: readonly Selection[]): Selection {
  const [first] = selections;
  assert.ok(first !== undefined && selections.every(({ suite }) => suite === first.suite));
  const anyOf = (patterns: readonly string[]) => [...new Set(patterns)].map((one) => `(?:${one})`).join("|");
  const tests = selections.map((one) => one.tests);
  return {
    suite: first.suite,
    cases: anyOf(selections.map(({ cases }) => cases)),
    ...(tests.every((one) => one !== undefined) ? { tests: anyOf(tests) } : {}),
  };
}
