import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { afterEach, beforeEach, describe, test } from "node:test";
import { freshTestEnvironment, type Scratch, scratch } from "../scratch.ts";
import { buildCommit, commitNamed } from "./commit.ts";

const LOCK = "package-lock.json";
const BUILD = `import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
mkdirSync("dist");
const [source, packages] = ["source", "node_modules/packages"].map((path) => readFileSync(path, "utf8"));
writeFileSync("dist/deckhand.js", source + " with " + packages);
writeFileSync("dist/deckhand", "");`;

describe("build of an earlier commit", () => {
  let tree: Scratch;

  /** A repository whose build copies its source, and whose setup installs packages if none are installed. */
  beforeEach(() => {
    tree = scratch();
    tree.write(".gitignore", "node_modules\ntemporary\n");
    tree.write("package.json", `{ "type": "module" }`);
    tree.write(LOCK, "first");
    tree.write("source", "old source");
    tree.write("tools/build.ts", BUILD);
    tree.write("tools/build/executable.ts", `export const NODE_OPTIONS = ["--old-option"];`);
    tree.write(
      "tools/setup.sh",
      "[ -e node_modules ] || { mkdir node_modules && printf installed >node_modules/packages; }",
    );
    tree.git("init", "--quiet");
    commit();
    tree.write("source", "new source");
    commit();
    tree.write("node_modules/packages", "copied");
    mkdirSync(tree.path("temporary"));
  });

  afterEach(() => tree[Symbol.dispose]());

  function commit(): void {
    tree.git("add", "--all");
    tree.git("commit", "--quiet", "--message", "a commit");
  }

  const left = () => readdirSync(tree.path("temporary"));
  /** A process that builds HEAD~, prints what was built, and then runs `after`. */
  const builder = (after = "") => {
    const script = `import { readFileSync } from "node:fs";
      import { buildCommit } from ${JSON.stringify(import.meta.resolve("./commit.ts"))};
      const { node, bundle } = buildCommit("HEAD~", ${JSON.stringify(tree.root)});
      const [path, ...options] = node;
      const program = path === process.execPath ? "our Node" : readFileSync(path, "utf8").slice(0, 20);
      console.log(JSON.stringify([readFileSync(bundle, "utf8"), program, ...options]));
      ${after}`;
    const env = { ...freshTestEnvironment(), TMPDIR: tree.path("temporary") };
    return { args: ["--input-type=module", "--eval", script], env };
  };
  const build = (after?: string) => {
    const { args, env } = builder(after);
    return spawnSync(process.execPath, args, { env, encoding: "utf8" });
  };

  test("contains that commit's sources and Node options, with the packages of this checkout", () => {
    const { stdout, stderr, status } = build();
    assert.equal(status, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), ["old source with copied", "our Node", "--old-option"]);
    assert.deepEqual(left(), []);
  });

  test("installs its own packages when its lock file differs", () => {
    tree.write(LOCK, "second");
    const { stdout } = build();
    assert.deepEqual(JSON.parse(stdout), ["old source with installed", "our Node", "--old-option"]);
  });

  test("keeps a copy of Node when the commit uses another release", () => {
    const other = `const [version, execPath] = ["v0.0.1", import.meta.dirname + "/other-node"];
      Object.defineProperties(process, { version: { value: version }, execPath: { value: execPath } });`;
    tree.write("other.js", other);
    tree.write("other-node", "other Node");
    tree.write("tools/setup.sh", `export NODE_OPTIONS="--import=$PWD/other.js"`);
    commit();
    tree.write("source", "newest source");
    commit();
    assert.deepEqual(JSON.parse(build().stdout), ["new source with copied", "other Node", "--old-option"]);
  });

  test("adds no worktree to the repository", () => {
    const { status, stderr } = build(`import { readdirSync } from "node:fs";
      if (readdirSync(${JSON.stringify(tree.path(".git"))}).includes("worktrees")) process.exitCode = 1;`);
    assert.equal(status, 0, stderr);
  });

  test("removes its directory after a failed build", () => {
    tree.write("tools/build.ts", "process.exitCode = 1;");
    commit();
    tree.write("source", "newest source");
    commit();
    assert.equal(build().status, 1);
    assert.deepEqual(left(), []);
  });

  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const) {
    test(`removes its directory after ${signal}`, async () => {
      const { args, env } = builder("setInterval(() => {}, 1_000);");
      const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
      await once(child.stdout, "data");
      const [directory = ""] = left();
      assert.deepEqual(readdirSync(tree.path(`temporary/${directory}`)), ["program"]);
      child.kill(signal);
      assert.deepEqual(await once(child, "exit"), [code, null]);
      assert.deepEqual(left(), []);
    });
  }

  test("fails with git's message when the repository has no such commit", () => {
    assert.throws(() => buildCommit("nowhere", tree.root), /not a valid object name: nowhere/);
  });

  test("commitNamed returns undefined for a name that is no commit", () => {
    assert.match(commitNamed("HEAD~", tree.root) ?? "", /^[0-9a-f]{40}$/);
    for (const name of ["nowhere", "HEAD:source", "--all", ""]) assert.equal(commitNamed(name, tree.root), undefined);
  });
});
