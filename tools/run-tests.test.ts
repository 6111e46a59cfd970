import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync, rmSync } from "node:fs";
import { after, describe, test } from "node:test";
import { freshTestEnvironment, scratch } from "./scratch.ts";
import { parseRun, type RunRecord } from "./testing/run-record.ts";

const good = `import { test } from "node:test"; test("good", () => {}); `;

describe("run-tests on a small repository", () => {
  const tree = scratch();
  after(() => tree[Symbol.dispose]());
  tree.copy(
    "tools/run-tests.ts",
    "tools/repository.ts",
    "tools/script-arguments.ts",
    "tools/shape.ts",
    "tools/testing",
    "test/figures.ts",
  );
  for (const path of globSync("tools/testing/*.test.ts", { cwd: tree.root })) rmSync(tree.path(path));
  for (const name of ["run-record", "suites"]) tree.write(`tools/testing/${name}.test.ts`, good);
  const suitesSource = readFileSync(tree.path("tools/testing/suites.ts"), "utf8");
  tree.write(".gitignore", ".runs/\n");
  tree.write("package.json", `{ "type": "module" }`);
  tree.git("init", "-q");
  commit("start");

  function commit(message: string): void {
    tree.git("add", "-A");
    tree.git("commit", "-q", "-m", message);
  }

  function run(...args: readonly string[]) {
    const { status, stdout } = spawnSync(process.execPath, [tree.path("tools/run-tests.ts"), ...args], {
      encoding: "utf8",
      env: freshTestEnvironment(),
    });
    return { status, stdout, lastLine: stdout.trimEnd().split("\n").at(-1) };
  }

  function recordOf(suite: string): RunRecord {
    const path = tree.path(`.runs/${suite}.json`);
    return parseRun(readFileSync(path, "utf8"), path);
  }

  test("a passing suite ends with its count and exit code 0, and is recorded", () => {
    const { status, lastLine } = run("unit");
    assert.deepEqual({ status, lastLine }, { status: 0, lastLine: "2 passed, 0 failed, 0 skipped" });
    const record = recordOf("unit");
    assert.deepEqual(
      record.tests
        .map(({ name, file, passed }) => ({ name, file, passed }))
        .toSorted((a, b) => (a.file < b.file ? -1 : 1)),
      [
        { name: "good", file: "tools/testing/run-record.test.ts", passed: true },
        { name: "good", file: "tools/testing/suites.test.ts", passed: true },
      ],
    );
    assert.equal(record.dirty, false);
    assert.match(record.commit, /^[0-9a-f]{40}$/);
  });

  test("a run without any test fails", () => {
    const { status, lastLine } = run("unit", "no-such-file");
    assert.deepEqual({ status, lastLine }, { status: 1, lastLine: "0 passed, 0 failed, 0 skipped" });
  });

  test("--again retries a failed integration file, the retry counts, and --total names what passed on it", () => {
    const once = `import { existsSync, writeFileSync } from "node:fs";
      const mark = new URL("./mark", import.meta.url);
      test("unsteady", () => { if (!existsSync(mark)) { writeFileSync(mark, ""); throw new Error("the first time"); } });`;
    tree.write("test/integration/once.test.ts", good + once);
    const first = run("integration", "--again", "once");
    assert.deepEqual(
      { status: first.status, lastLine: first.lastLine },
      { status: 0, lastLine: "2 passed, 0 failed, 0 skipped" },
    );
    assert.match(first.stdout, /failed: unsteady\n.*the first time/);
    assert.match(first.stdout, /^second try: test\/integration\/once\.test\.ts$/m);
    const named = /^passed only on the second try: test\/integration\/once\.test\.ts: unsteady$/m;
    assert.match(first.stdout, named);
    const { stdout } = run("--total");
    assert.match(stdout, named);
    assert.match(stdout, /^second tries: 1$/m);
    tree.remove("test/integration/mark");
    assert.equal(run("integration", "once").status, 1, "without --again no file runs twice");
    tree.remove("test/integration/once.test.ts");
  });

  test("--again also names a file whose hook failed on the first try", () => {
    const once = `import { existsSync, writeFileSync } from "node:fs";
      import { before, suite } from "node:test";
      const mark = new URL("./hook-mark", import.meta.url);
      suite("all", () => {
        before(() => { if (!existsSync(mark)) { writeFileSync(mark, ""); throw new Error("the first time"); } });
        test("inside", () => {});
      });`;
    tree.write("test/integration/hook.test.ts", good + once);
    const { stdout, status } = run("integration", "--again", "hook");
    assert.equal(status, 0);
    assert.match(stdout, /^passed only on the second try: test\/integration\/hook\.test\.ts(: .*)?$/m);
    tree.remove("test/integration/hook-mark");
    tree.remove("test/integration/hook.test.ts");
  });

  test("--again is rejected for unit and simulator tests", () => {
    for (const suite of ["unit", "simulator"]) assert.equal(run(suite, "--again").status, 2);
  });

  test("--again does not pass a file that fails twice, nor retry skipped tests or more than 5 failed files", () => {
    tree.write("test/integration/bad0.test.ts", `${good} test("bad", () => { throw new Error("always"); })`);
    const twice = run("integration", "--again", "integration/bad");
    assert.deepEqual(
      { status: twice.status, lastLine: twice.lastLine },
      { status: 1, lastLine: "1 passed, 1 failed, 0 skipped" },
    );
    for (const number of [1, 2, 3, 4, 5])
      tree.write(`test/integration/bad${number}.test.ts`, `${good} test("bad", () => { throw new Error("x"); })`);
    assert.doesNotMatch(run("integration", "--again", "integration/bad").stdout, /second try/);
    for (const number of [0, 1, 2, 3, 4, 5]) tree.remove(`test/integration/bad${number}.test.ts`);
    tree.write("test/integration/bad.test.ts", `${good} test.skip("later", () => {})`);
    assert.doesNotMatch(run("integration", "--again", "integration/bad").stdout, /second try/);
    tree.remove("test/integration/bad.test.ts");
  });

  for (const [what, body, lastLine, printed] of [
    [
      "a failed assertion",
      `test("bad", () => { throw new Error("the reason"); })`,
      "1 passed, 1 failed, 0 skipped",
      /failed: bad\n.*the reason/,
    ],
    ["a skipped test", `test.skip("later", () => {})`, "1 passed, 0 failed, 1 skipped", /skipped: later/],
    ["a todo test", `test.todo("later")`, "1 passed, 0 failed, 1 skipped", /skipped: later/],
    [
      "an error after the tests",
      `setTimeout(() => { throw new Error("too late"); }, 50)`,
      "1 passed, 1 failed, 0 skipped",
      /too late/,
    ],
    [
      "an error that nobody catches while a test runs",
      `test("bad", async () => {
        setTimeout(() => { throw new Error("nobody catches it"); }, 10);
        await new Promise((resolve) => setTimeout(resolve, 100));
      })`,
      "1 passed, 1 failed, 0 skipped",
      /nobody catches it/,
    ],
    [
      "a rejection that nobody catches while a test runs",
      `test("bad", async () => {
        void Promise.reject(new Error("nobody awaits it"));
        await new Promise((resolve) => setTimeout(resolve, 100));
      })`,
      "2 passed, 1 failed, 0 skipped",
      /nobody awaits it/,
    ],
    ["an error while loading", `throw new Error("not loaded")`, "0 passed, 1 failed, 0 skipped", /not loaded/],
  ] as const) {
    test(`${what} fails the run and is named`, () => {
      tree.write("src/x.test.ts", good + body);
      const { status, stdout, lastLine: found } = run("unit", "src/x");
      assert.deepEqual({ status, found }, { status: 1, found: lastLine }, stdout);
      assert.match(stdout, printed);
    });
  }

  test("a file without a test fails the run", () => {
    tree.write("src/x.test.ts", "console.log('nothing here');");
    const { status, stdout, lastLine } = run("unit", "src/x");
    assert.deepEqual({ status, lastLine }, { status: 1, lastLine: "0 passed, 1 failed, 0 skipped" });
    assert.match(stdout, /it holds no test/);
  });

  test("a file over the time limit is killed even in a busy loop, and its failure says so", () => {
    tree.write(
      "src/x.test.ts",
      `${good} test("bad", () => { throw new Error("x"); }); test("busy", async () => { await new Promise((r) => setTimeout(r, 200)); for (;;); });`,
    );
    tree.write("tools/testing/suites.ts", suitesSource.replaceAll(/fileLimitMs: .*,/g, "fileLimitMs: 8000,"));
    const { status, stdout, lastLine } = run("unit", "src/x");
    tree.write("tools/testing/suites.ts", suitesSource);
    assert.deepEqual({ status, lastLine }, { status: 1, lastLine: "1 passed, 2 failed, 0 skipped" }, stdout);
    assert.match(stdout, /failed: the file as a whole/);
    assert.match(stdout, /ended from outside: it ran for more than 8 s/);
  });

  test("a failing hook fails the run although every test passed", () => {
    tree.write(
      "src/x.test.ts",
      `import { after, describe, test } from "node:test";
       describe("outer", () => { test("inner", () => {}); after(() => { throw new Error("in the hook"); }); });`,
    );
    const { status, stdout, lastLine } = run("unit", "src/x");
    assert.deepEqual({ status, lastLine }, { status: 1, lastLine: "1 passed, 1 failed, 0 skipped" });
    assert.match(stdout, /failed: outer\n.*in the hook/);
  });

  test("a partial run is merged into the record of the same commit, and starts a new record on another commit", () => {
    tree.write("src/x.test.ts", good);
    commit("before");
    run("unit");
    tree.write("src/x.test.ts", good.replace("good", "better"));
    run("unit", "src/x");
    const names = () =>
      recordOf("unit")
        .tests.map((test) => test.name)
        .toSorted();
    assert.deepEqual(names(), ["better", "good", "good"]);
    assert.equal(recordOf("unit").dirty, true);
    commit("after");
    run("unit", "src/x");
    assert.deepEqual(names(), ["better"]);
  });

  test("records full test names, the defining file, and figures with their test", () => {
    tree.write(
      "test/contract/one.ts",
      `import { test } from "node:test"; export const suite = () => test("holds", () => {});`,
    );
    tree.write(
      "test/integration/x.test.ts",
      `import { describe, test } from "node:test"; import { figure } from "../figures.ts"; import { suite } from "../contract/one.ts";
       describe("outer", () => { test("inner", () => figure("start", 12.5, "ms")); suite(); });`,
    );
    const { stdout, status } = run("integration");
    assert.equal(status, 0, stdout);
    const { tests, figures, files } = recordOf("integration");
    assert.deepEqual(
      tests.map(({ name, definedIn }) => [name, definedIn]),
      [
        ["outer > inner", undefined],
        ["outer > holds", "test/contract/one.ts"],
      ],
    );
    assert.deepEqual(figures, [{ test: "outer > inner", name: "start", value: 12.5, unit: "ms" }]);
    assert.deepEqual(Object.keys(files), ["test/contract/one.ts", "test/integration/x.test.ts"]);
  });

  test("--total adds up the suites of this commit and counts a suite that has not run on it as a failure", () => {
    tree.write("src/x.test.ts", good);
    for (const file of ["sim/y", "test/integration/cluster", "test/guest/y"]) tree.write(`${file}.test.ts`, good);
    commit("for the total");
    assert.equal(run("unit").status, 0);
    const before = run("--total");
    assert.deepEqual([before.status, before.lastLine], [1, "3 passed, 4 failed, 0 skipped"]);
    for (const suite of ["simulator", "integration", "harness", "guest"]) {
      assert.match(before.stdout, new RegExp(`^${suite} has not run on this commit$`, "m"));
      assert.equal(run(suite).status, 0);
    }
    const after = run("--total");
    assert.deepEqual([after.status, after.lastLine], [0, "8 passed, 0 failed, 0 skipped"]);
    tree.write("src/x.test.ts", `${good} test.skip("later", () => {});`);
    run("unit");
    assert.equal(run("--total").lastLine, "8 passed, 0 failed, 1 skipped");
  });
});
