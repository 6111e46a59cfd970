import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { inRepository, repositoryRoot } from "./repository.ts";
import { fields, parseJson, text } from "./shape.ts";

const scripts = fields(
  fields(parseJson(readFileSync(inRepository("package.json"), "utf8")), "package.json")["scripts"],
  "scripts",
);
/** Scripts that run a file of ours: the others call a linter. */
const ours = Object.entries(scripts).flatMap(([name, line]) => {
  const file = /^node (\S+\.ts)/.exec(text(line, name))?.[1];
  return file === undefined ? [] : [[name, file] as const];
});
const run = (file: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, [file, ...args], { cwd: repositoryRoot, encoding: "utf8" });

describe("development scripts", () => {
  for (const file of new Set(ours.map(([, each]) => each))) {
    test(`${file} prints its usage for --help and exits with 2 for an unknown flag`, () => {
      const help = run(file, "--help");
      assert.deepEqual([help.status, help.stderr], [0, ""]);
      assert.match(help.stdout, /^Usage: npm (?:test|run [\w-]+)/);
      const [first = ""] = help.stdout.split("\n");
      assert.ok(
        ours.some(([name, each]) => each === file && first.includes(name.split(":")[0] ?? name)),
        first,
      );
      const wrong = run(file, "--no-such-flag");
      assert.equal(wrong.status, 2, wrong.stderr);
    });
  }
});
