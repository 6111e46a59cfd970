/**
 * Checks that pages generated from simulator runs, and pages that name many of the repository's paths, are up to date.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { livenessExample, wrongTagExample } from "../sim/explain-world.ts";
import { hourAsMarkdown } from "../sim/measure-api-cost.ts";
import { podLifeAsMarkdown, podLifeCosts } from "../sim/pod-life-cost.ts";
import { sequencesAsMarkdown } from "../sim/sequences.ts";
import { findingsAsMarkdown } from "../src/domain/doctor/show.ts";
import { cellNames, cellUseAsMarkdown, cellUseOf } from "./cells.ts";
import { LIMIT_MODULES, limitsAsMarkdown, limitsOf } from "./limits.ts";
import { inRepository, repositoryRoot } from "./repository.ts";

const ENGLISH = "docs/from-the-go-kubelet.md";
const CHINESE = "docs/from-the-go-kubelet.zh.md";
/** How to update a page after an intended change. */
const AGAIN = "run this test with UPDATE_DOCS=1 and read the difference";

const read = (path: string) => readFileSync(inRepository(path), "utf8");

/** Returns the text between the markers of a command; with UPDATE_DOCS=1 it writes the text first. */
function block(path: string, command: string, wanted: string): string {
  const [begin, end] = [`<!-- ${command}: begin -->\n`, `<!-- ${command}: end -->`];
  const page = read(path);
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  assert.ok(from >= 0 && to > from, `${path} has no block of ${command}`);
  const start = from + begin.length;
  if (process.env["UPDATE_DOCS"] !== "1") return page.slice(start, to).trim();
  writeFileSync(inRepository(path), `${page.slice(0, start)}\n${wanted.trim()}\n\n${page.slice(to)}`);
  return wanted.trim();
}

const pathsIn = (page: string): readonly string[] =>
  [...page.matchAll(/`((?:src|sim|test|tools|docs|bench|compat)\/[^`\s]*)`/g)].map(([, path = ""]) => path);

/** The first cells of the rows of the table of components. */
const componentsIn = (page: string): readonly string[] =>
  [...page.matchAll(/^\| (`[^|]+`) \|/gm)].map(([, names = ""]) => names);

test("the READMEs of the controllers list the cells that their types read and write", () => {
  const directories = globSync("src/controllers/*/", { cwd: repositoryRoot });
  assert.ok(directories.length > 20);
  for (const directory of directories) {
    const wanted = cellUseAsMarkdown(cellUseOf(directory));
    assert.equal(block(`${directory}/README.md`, "cells", wanted), wanted, AGAIN);
  }
});

describe("from admission to RunPodSandbox", () => {
  const page = read("docs/ARCHITECTURE.md");
  const section = page.slice(page.indexOf("## From admission to RunPodSandbox"), page.indexOf("## Layers"));
  const steps = section.split(/^(?=\d\. )/m).slice(1);

  test("each file calls the next one, or writes the cell that the next one reads", () => {
    const paths = steps.map((step) => /^\d\. `([^`]+)`/.exec(step)?.[1] ?? assert.fail(step));
    assert.ok(paths.length >= 5 && paths.length <= 8, `${paths.length} files`);
    for (const [index, path] of paths.slice(0, -1).entries()) {
      const next = paths[index + 1] ?? assert.fail();
      const [from, to] = [read(path), read(next)];
      const [, cell] = /writes the cell `(\w+)`/.exec(steps[index] ?? "") ?? [];
      const [, method] = /calls `(\w+)` of$/m.exec(steps[index]?.trim() ?? "") ?? [];
      if (cell !== undefined) {
        assert.match(from, new RegExp(`\\b${cell}\\.set\\(`), path);
        assert.match(to, new RegExp(`\\b${cell}\\.get\\(|watch\\([^)]*\\b${cell}\\b`), next);
      } else if (method !== undefined) {
        assert.match(from, new RegExp(`\\.${method}\\(`), path);
        assert.match(to, new RegExp(`\\b${method}: async \\(|\\b${method}: \\(|\\b${method}\\(`), next);
      } else {
        const called = namesImported(from, path, next).filter((name) =>
          new RegExp(`(?<!new )\\b${name}\\(`).test(from),
        );
        assert.ok(called.length > 0, `${path} calls nothing of ${next}`);
      }
    }
  });

  test("the costs of a pod's lifecycle match what the simulator counts", async () => {
    const wanted = await podLifeAsMarkdown();
    assert.equal(block("docs/ARCHITECTURE.md", "npm run pod-life", wanted), wanted.trim(), AGAIN);
    const costs = await podLifeCosts();
    const runtime = costs.get("runtime") ?? assert.fail();
    for (const call of ["runSandbox", "createContainer", "startContainer", "stopContainer", "stopSandbox"]) {
      assert.equal(runtime.get(call), 1, call);
    }
    assert.ok((costs.get("API server")?.get("patch pods/status") ?? 0) > 0);
    assert.ok((costs.get("journal")?.get("synced write") ?? 0) > 0);
  });
});

/** The names that a file imports from another as values. */
function namesImported(source: string, path: string, from: string): readonly string[] {
  const imports = [...source.matchAll(/^import \{([^}]*)\} from "([^"]+)";/gm)];
  return imports
    .filter(([, , specifier = ""]) => join(dirname(path), specifier) === from)
    .flatMap(([, names = ""]) => names.split(",").map((name) => name.trim()))
    .filter((name) => name !== "" && !name.startsWith("type "));
}

describe("from the Go kubelet", () => {
  test("both languages contain the sequences that the simulator plays", async () => {
    const wanted = await sequencesAsMarkdown();
    for (const path of [ENGLISH, CHINESE])
      assert.equal(block(path, "npm run sequences", wanted), wanted.trim(), `${path}: ${AGAIN}`);
  });

  test("every path that the pages name exists", () => {
    for (const page of [ENGLISH, CHINESE]) {
      const paths = pathsIn(read(page));
      assert.ok(paths.length > 50, `${page} names ${paths.length} paths`);
      assert.deepEqual(
        paths.filter((path) => !existsSync(inRepository(path))),
        [],
        page,
      );
    }
  });

  test("both languages name the same components and paths, in the same order", () => {
    const [english, chinese] = [read(ENGLISH), read(CHINESE)];
    assert.ok(componentsIn(english).length > 40);
    assert.deepEqual(componentsIn(chinese), componentsIn(english));
    assert.deepEqual(pathsIn(chinese), pathsIn(english));
  });

  test("both languages name every directory of controllers and every cell", () => {
    const directories = globSync("src/controllers/*/README.md", { cwd: repositoryRoot }).map((path) =>
      path.replace("README.md", ""),
    );
    const cells = cellNames();
    assert.ok(directories.length > 10 && cells.length > 10);
    for (const path of [ENGLISH, CHINESE]) {
      const page = read(path);
      assert.deepEqual(
        directories.filter((directory) => !page.includes(directory)),
        [],
        path,
      );
      assert.deepEqual(
        cells.filter((cell) => !page.includes(`\`${cell}\``)),
        [],
        path,
      );
    }
  });
});

test("docs/scale.md contains the hour that the simulator measures", async () => {
  const wanted = await hourAsMarkdown();
  assert.equal(block("docs/scale.md", "npm run api-cost -- hour", wanted), wanted.trim(), AGAIN);
});

/** The cells of the rows between the markers of `npm run api-cost -- day`, without headers. */
function dayRows(): readonly (readonly string[])[] {
  const day = block("docs/scale.md", "npm run api-cost -- day", "");
  return day
    .split("\n")
    .filter((line) => /^\| [a-z*]+ ?.*\d/.test(line) && !line.startsWith("| call"))
    .map((line) => line.split("|").map((cell) => cell.trim().replaceAll(" ", "")));
}

test("docs/scale.md: the fleets' rates are the day's requests times the nodes", {
  skip: process.env["UPDATE_DOCS"] === "1",
}, () => {
  const rows = dayRows();
  assert.ok(rows.length >= 10, `${rows.length} rows`);
  for (const [, , requests = "", , , small = "", , large = ""] of rows) {
    for (const [nodes, reported] of [
      [5_000, small],
      [100_000, large],
    ] as const) {
      const rate = (Number(requests) * nodes) / 86_400;
      assert.ok(
        Math.abs(rate - Number(reported)) <= Math.max(0.5, rate / 1000),
        `${requests} × ${nodes} is not ${reported}/s`,
      );
    }
  }
});

test("docs/explain.md shows the current output", async () => {
  for (const [name, wanted] of [
    ["a failing liveness probe", await livenessExample()],
    ["a tag that does not exist", await wrongTagExample()],
  ] as const) {
    assert.equal(block("docs/explain.md", name, wanted), wanted, AGAIN);
  }
});

test("docs/doctor.md lists every finding of the code", () => {
  assert.equal(block("docs/doctor.md", "findings", findingsAsMarkdown()), findingsAsMarkdown(), AGAIN);
});

describe("limits on external input", () => {
  test("docs/security.md lists the current limits", async () => {
    const wanted = await limitsAsMarkdown();
    assert.equal(block("docs/security.md", "limits", wanted), wanted.trim(), AGAIN);
  });

  /** Node's own HTTP server enforces these, each after ten seconds or more. */
  const BY_NODE = ["handshakeMsMax", "requestMsMax", "idleMsMax", "longAnswerMsMax"].map((name) => `LIMITS.${name}`);

  test("each limit has a comment, and a test names it", async () => {
    for (const module of LIMIT_MODULES) {
      for (const { name, what, tests } of await limitsOf(module)) {
        assert.notEqual(what, "", `${module}: ${name} has no comment`);
        if (!BY_NODE.includes(name)) assert.notDeepEqual(tests, [], `${module}: no test names ${name}`);
      }
    }
  });

  test("every path in docs/security.md exists", () => {
    const paths = pathsIn(read("docs/security.md"));
    assert.ok(paths.length > 30);
    assert.deepEqual(
      paths.filter((path) => !existsSync(inRepository(path))),
      [],
    );
  });
});
