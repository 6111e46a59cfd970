import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { inRepository } from "../tools/repository.ts";

/** B0 is no benchmark: it ends the run even if the mistake before it is not detected. */
const MISTAKE = "B0";

describe("an invalid command line exits with code 2", () => {
  for (const { args, message } of [
    { args: ["--against", "nowhere"], message: /^error: this repository has no commit "nowhere"\n/ },
    { args: ["--only", "before"], message: /^error: the candidates are bare, go, deckhand\n/ },
    {
      args: ["--against", "HEAD", "--only", "deckhand"],
      message: /^error: the candidates are bare, go, deckhand, before, and --against needs "before"\n/,
    },
    { args: [], message: /^error: the benchmarks are B1, B2, / },
  ]) {
    test(`${[...args, MISTAKE].join(" ")}: ${message.source}`, () => {
      const command = [inRepository("bench/run.ts"), ...args, MISTAKE];
      const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: "utf8" });
      assert.deepEqual([status, stdout], [2, ""]);
      assert.match(stderr, message);
    });
  }
});
