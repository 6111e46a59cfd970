import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { freshTestEnvironment, scratch } from "./scratch.ts";
import { fields, number, parseJson, record, text } from "./shape.ts";
import { directRequirements } from "./testing/proof-report.ts";
import { parseRun } from "./testing/run-record.ts";

describe("proof on a small repository", () => {
  const tree = scratch();
  after(() => tree[Symbol.dispose]());
  tree.copy(
    "tools/proof.ts",
    "tools/repository.ts",
    "tools/script-arguments.ts",
    "tools/shape.ts",
    "tools/testing",
    "test/figures.ts",
    "test/size.ts",
  );
  tree.write("package.json", `{ "type": "module", "version": "1.2.3" }`);
  tree.write("test/cluster/parts/x/go.mod", "require example.com/x v4.5.6\n");
  tree.write(
    "test/proofs/big.proof.ts",
    `import assert from "node:assert/strict"; import { test } from "node:test";
     import { figure } from "../figures.ts"; import { seed, wholeSize } from "../size.ts";
     test("is big", () => { assert.ok(wholeSize()); figure("seed seen", seed(), "1"); });`,
  );
  tree.git("init", "-q");
  tree.git("add", "-A");
  tree.git("commit", "-q", "-m", "start");
  const report = tree.path("docs/proofs/big.json");

  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, [tree.path("tools/proof.ts"), ...args], {
      encoding: "utf8",
      env: freshTestEnvironment(),
    });

  test("lists the proofs when none is named", () => {
    assert.deepEqual([run().stdout, run().status], ["big\n", 0]);
  });

  test("rejects an unknown proof and a seed that is not a number", () => {
    assert.equal(run("small").status, 2);
    assert.match(run("small").stderr, /no proof "small"; known: big/);
    assert.match(run("big", "--seed", "x").stderr, /--seed must be a whole number/);
  });

  test("--try runs at the whole size and writes nothing", () => {
    const { status, stdout } = run("big", "--try", "--seed", "7");
    assert.equal(status, 0, stdout);
    assert.match(stdout, /seed seen: 7 1\n1 passed, 0 failed, 0 skipped\n$/);
    assert.equal(existsSync(report), false);
  });

  test("writes a report with commit, seed, versions and figures, as JSON and Markdown", () => {
    assert.equal(run("big", "--seed", "42").status, 0);
    const source = readFileSync(report, "utf8");
    const { suite, dirty, tests, figures } = parseRun(source, "big.json");
    assert.deepEqual(
      { suite, dirty, passed: tests.map((each) => each.passed), figures },
      {
        suite: "proof:big",
        dirty: false,
        passed: [true],
        figures: [{ test: "is big", name: "seed seen", value: 42, unit: "1" }],
      },
    );
    const more = fields(parseJson(source), "report");
    assert.equal(number(more["seed"], "seed"), 42);
    assert.deepEqual(record(more["versions"], "versions", text), { deckhand: "1.2.3", "example.com/x": "v4.5.6" });
    const page = readFileSync(tree.path("docs/proofs/big.md"), "utf8");
    assert.match(page, /all 1 tests passed/);
    assert.match(page, /\| seed seen \| 42 1 \| is big \|/);
  });

  test("one file of a proof can run alone: the report keeps the other files, each with its commit", () => {
    tree.write(
      "test/proofs/small.proof.ts",
      `import { test } from "node:test"; import { figure } from "../figures.ts"; import { seed } from "../size.ts";
       test("is small", () => figure("small seed", seed(), "1"));`,
    );
    tree.write(
      "tools/testing/proof-files.ts",
      `export const proofNames = () => ["big"];
       export const proofEnvironment = () => ({});
       export const proofBatches = () => [{ files: ["test/proofs/big.proof.ts", "test/proofs/small.proof.ts"], concurrency: 1 }];`,
    );
    tree.git("add", "-A");
    tree.git("commit", "-q", "-m", "two files");
    assert.equal(run("big", "big.proof", "--seed", "1").status, 0);
    const page = () => readFileSync(tree.path("docs/proofs/big.md"), "utf8");
    assert.match(page(), /all 1 tests passed; \*\*not run: test\/proofs\/small\.proof\.ts\*\*/);
    tree.git("add", "-A");
    tree.git("commit", "-q", "-m", "half of the report");
    assert.equal(run("big", "small.proof", "--seed", "2").status, 0);
    const { tests, figures } = parseRun(readFileSync(report, "utf8"), "big.json");
    assert.deepEqual(tests.map(({ name }) => name).toSorted(), ["is big", "is small"]);
    assert.deepEqual(new Set(figures.map(({ value }) => value)), new Set([1, 2]));
    assert.match(page(), /all 2 tests passed\./);
    const parts = [...page().matchAll(/^\| test\/proofs\/(\w+)\.proof\.ts \| (\w+) \| .* \| (\d) \|$/gm)];
    assert.deepEqual(
      parts.map(([, file, , seed]) => [file, seed]),
      [
        ["big", "1"],
        ["small", "2"],
      ],
    );
    assert.notEqual(parts[0]?.[2], parts[1]?.[2]);
  });

  test("refuses to run with uncommitted changes, except an uncommitted report", () => {
    assert.equal(run("big").status, 0);
    tree.write("src/new.ts", "");
    const { status, stderr } = run("big");
    assert.deepEqual([status, stderr.includes("commit them")], [2, true]);
  });
});

test("directRequirements leaves out a go.mod's indirect requirements", () => {
  const source =
    "module a.b/c\n\ngo 1.26\n\nrequire a.b/one v1.0.0\n\nrequire (\n\ta.b/two v2.0.0\n\ta.b/three v3.0.0 // indirect\n)\n";
  assert.deepEqual(directRequirements(source), { "a.b/one": "v1.0.0", "a.b/two": "v2.0.0" });
});
