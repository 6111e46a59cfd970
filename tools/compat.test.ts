import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { scratch } from "./scratch.ts";

describe("compat on a small repository", () => {
  const tree = scratch();
  after(() => tree[Symbol.dispose]());
  tree.copy(
    "tools/compat.ts",
    "tools/compat",
    "tools/layers.ts",
    "tools/marked-text.ts",
    "tools/repository.ts",
    "tools/script-arguments.ts",
    "tools/shape.ts",
    "tools/testing",
    "src/base",
  );
  tree.linkPackages();
  tree.write("package.json", `{ "type": "module" }`);
  tree.write(".gitignore", "node_modules\n.runs/\n");
  tree.write("docs/README.md", "");
  for (const page of ["README.md", "README.zh-CN.md"])
    tree.write(page, "# R\n\n<!-- status: written by npm run compat -->\nold\n<!-- /status -->\nmore\n");
  tree.write("compat/ids.yaml", `P0: "1.1"\nP1: "1.2"\nP2: "1.3"\nP3: "1.4"\ncontract: "27.1.1"\n`);
  const rows = ["1.1 P0", "1.2 P1", "1.3 P2", "1.4 P3", "27.1.1 contract"].map((row) => row.split(" "));
  const ledger = (state: string) =>
    [
      `areas: { "1": start, "27.1": files }`,
      "rows:",
      ...rows.map(([id, prio]) => `  - { id: "${id}", title: t, prio: ${prio}, state: todo }`),
    ]
      .join("\n")
      .replace("state: todo", state);
  tree.write("compat/ledger.yaml", ledger("state: todo"));
  tree.git("init", "-q");
  tree.git("add", "-A");
  tree.git("commit", "-q", "-m", "start");

  const run = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [tree.path("tools/compat.ts"), ...args], {
      encoding: "utf8",
    });
    assert.equal(stderr, "");
    return { status, stdout };
  };

  test("--check fails on a missing or outdated page and passes once the page is written", () => {
    assert.match(run("--check").stdout, /problem: docs\/compatibility\.md is not up to date/);
    assert.equal(run().status, 0);
    assert.equal(run("--check").status, 0);
    assert.match(
      readFileSync(tree.path("README.md"), "utf8"),
      /-->\nOf \[5 behaviors and contracts\].* \*\*0 are done\*\*, .*\n<!-- \/status -->\nmore\n$/,
    );
    tree.write("docs/compatibility/9-gone.md", "of an area that is gone");
    assert.match(run("--check").stdout, /problem: docs\/compatibility\/9-gone\.md is not up to date/);
    assert.equal(run().status, 0);
    assert.equal(run("--check").status, 0);
    tree.write("compat/ledger.yaml", ledger(`state: wont, reason: "not here"`));
    assert.equal(run("--check").status, 1);
  });

  test("an invalid ledger is reported as a problem, not a crash", () => {
    tree.write("compat/ledger.yaml", ledger("state: done"));
    const { status, stdout } = run();
    assert.deepEqual([status, stdout], [1, "problem: row 1.1: state done without a proof\n"]);
  });

  test("every report is printed with its commit and age", () => {
    tree.write("compat/ledger.yaml", ledger("state: todo"));
    const host = { cores: 1, memoryGiB: 1, kernel: "k", platform: "p", load: 0 };
    const report = {
      suite: "s",
      dirty: false,
      startedAt: "2026-01-01",
      node: "v",
      host,
      seconds: 1,
      files: {},
      tests: [],
      figures: [],
    };
    const lost = "0123456789012345678901234567890123456789";
    tree.write("docs/proofs/lost.json", JSON.stringify({ ...report, commit: lost }));
    assert.match(
      run().stdout,
      /^lost\.json: 0123456789, of a commit that is not in this history: 0 of 0 tests passed$/m,
    );
    const first = spawnSync("git", ["rev-parse", "HEAD"], { cwd: tree.root, encoding: "utf8" }).stdout.trim();
    tree.git("add", "-A");
    tree.git("commit", "-q", "-m", "next");
    tree.write("docs/proofs/lost.json", JSON.stringify({ ...report, commit: first }));
    assert.match(
      run().stdout,
      new RegExp(`^lost\\.json: ${first.slice(0, 10)}, 1 commits old, 0 of them changed src: 0 of 0`, "m"),
    );
  });
});
