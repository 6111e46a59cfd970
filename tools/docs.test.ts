/** Checks that the documents' examples name existing things, that runnable examples run, and that links are valid. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { documents } from "./documents.ts";
import { inRepository, repositoryRoot } from "./repository.ts";
import { freshTestEnvironment } from "./scratch.ts";
import { fields, parseJson } from "./shape.ts";
import { proofNames } from "./testing/proof-files.ts";

const read = (path: string) => readFileSync(inRepository(path), "utf8");
const scripts = fields(fields(parseJson(read("package.json")), "package.json")["scripts"], "scripts");

/** This test runs every line of the README that begins with "kubectl ", on a test node. */
const KUBECTL_TYPIST = "test/integration/node-server.test.ts";

/** Pages whose every example is run by a test, by section. */
const TYPED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "docs/install.md": {
    "Building the packages": "test/integration/packages.test.ts",
    "One file": "test/integration/packages.test.ts",
    "The Debian package": "test/integration/debian-package.test.ts",
    "A cluster by kubeadm": "test/support/kubeadm-suite.ts",
    "Joining a node by kubeadm": "test/support/kubeadm-suite.ts",
    "Upgrading a node by kubeadm": "test/support/kubeadm-suite.ts",
    "Leaving a cluster": "test/support/kubeadm-suite.ts",
    "The image": "test/integration/installed-agent.test.ts",
    "The npm package": "test/integration/packages.test.ts",
  },
  "docs/switch-over.md": {
    "Looking first": "test/installed/switch-over.test.ts",
    There: "test/installed/switch-over.test.ts",
    Back: "test/installed/switch-over.test.ts",
  },
};

interface Example {
  readonly runnable: boolean;
  readonly lines: readonly string[];
}

function examplesIn(page: string): readonly Example[] {
  return [...page.matchAll(/^```sh( runnable)?\n(.*?)^```$/gms)].map(([, runnable, body = ""]) => ({
    runnable: runnable !== undefined,
    lines: body.split("\n").filter((line) => line !== "" && !line.startsWith("#")),
  }));
}

/** The problem with a line of an example, or undefined. */
function problemOf(line: string): string | undefined {
  const [program = "", ...args] = line.split(" ");
  switch (program) {
    case "npm":
      return problemOfNpm(args);
    case "node":
    case ".":
      return existsSync(inRepository(args[0] ?? "")) ? undefined : `${args[0]} does not exist`;
    case "deckhand":
      return problemOfDeckhand(args);
    case "kubectl":
      return read(KUBECTL_TYPIST).includes('line.startsWith("kubectl ")') ? undefined : `${KUBECTL_TYPIST} types none`;
    default:
      return `no check is known for "${program}"`;
  }
}

function problemOfNpm([verb = "", ...rest]: readonly string[]): string | undefined {
  const name = verb === "run" ? rest[0] : verb;
  if (name === undefined || !(name in scripts)) return `package.json has no script ${name}`;
  const [first = ""] = rest.slice(rest.indexOf("--") + 1);
  if (
    (name === "cluster" || name === "guest") &&
    !new RegExp(`^    case "${first}":`, "m").test(read(`test/${name}/cli.ts`))
  ) {
    return `the ${name} command has no verb ${first}`;
  }
  if (name === "proof" && !proofNames().includes(first)) return `there is no proof ${first}`;
  return undefined;
}

/** The test of each command, which runs the command's examples against a running node. */
const TYPISTS: Readonly<Record<string, string>> = {
  orphans: "orphans",
  explain: "explain",
  doctor: "doctor",
  gc: "gc",
  eviction: "eviction-differential",
};

function problemOfDeckhand([command = "", verb = ""]: readonly string[]): string | undefined {
  const file = TYPISTS[command];
  const isTyped = file !== undefined && read(`test/integration/${file}.test.ts`).includes(`"deckhand ${command} "`);
  return isTyped ? undefined : `no test types "deckhand ${command} ${verb}"`;
}

/** The sections of a page with examples that no test runs. */
function untyped(path: string, page: string): readonly string[] {
  const typists = TYPED[path] ?? {};
  return page.split(/^## /m).flatMap((section) => {
    const heading = section.split("\n")[0] ?? "";
    const typist = typists[heading];
    if (examplesIn(section).length === 0) return [];
    const isTyped = typist !== undefined && read(typist).includes(`examplesUnder("${path}", "${heading}")`);
    return isTyped ? [] : [`no test types the examples of "${heading}"`];
  });
}

/** Links to files of the repository; web links are not checked. */
const linksIn = (page: string): readonly string[] =>
  [...page.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].flatMap(([, target = ""]) => (/^[a-z]+:/.test(target) ? [] : [target]));

describe("documents", () => {
  for (const path of documents) {
    const page = read(path);
    const examples = examplesIn(page);

    test(`${path}: links and examples refer to existing files and commands`, () => {
      const broken = linksIn(page).filter((link) => !existsSync(join(dirname(inRepository(path)), link)));
      const wrong =
        path in TYPED
          ? untyped(path, page)
          : examples.flatMap(({ lines }) => lines.flatMap((line) => problemOf(line) ?? []));
      assert.deepEqual({ broken, wrong }, { broken: [], wrong: [] });
    });

    for (const line of examples.filter(({ runnable }) => runnable).flatMap(({ lines }) => lines)) {
      test(`${path}: "${line}" runs`, () => {
        const env = { ...freshTestEnvironment(), PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` };
        const { status, stdout, stderr } = spawnSync("bash", ["-c", line], {
          cwd: repositoryRoot,
          encoding: "utf8",
          env,
        });
        assert.equal(status, 0, stderr);
        assert.notEqual(stdout, "");
      });
    }
  }

  test("README.md has at most 130 lines, and the Chinese README has its headings, numbers, examples and links", () => {
    const [english, chinese] = [read("README.md"), read("README.zh-CN.md")];
    assert.ok(english.trimEnd().split("\n").length <= 130);
    const prose = (page: string) => page.replaceAll(/^```.*?^```$/gms, "");
    const shape = (page: string) => ({
      headings: [...prose(page).matchAll(/^#+ /gm)].map(([level]) => level),
      numbers: [...prose(page).matchAll(/\d[\d.,]*(?<![.,])/g)].map(([number]) => number).toSorted(),
      examples: examplesIn(page),
      links: linksIn(page)
        .filter((link) => !link.startsWith("README"))
        .toSorted(),
    });
    assert.deepEqual(shape(chinese), shape(english));
  });

  test("the pages that every user expects exist, with examples", () => {
    for (const path of ["README.md", "CONTRIBUTING.md"]) assert.ok(examplesIn(read(path)).length >= 3, path);
    for (const path of ["CHANGELOG.md", "SECURITY.md", "docs/ARCHITECTURE.md", "docs/compatibility.md"]) {
      assert.ok(documents.includes(path), path);
    }
    assert.match(read("LICENSE"), /Apache License\s+Version 2\.0/);
  });
});

describe("check of an example", () => {
  for (const [line, problem] of [
    ["npm test -- concurrency", undefined],
    ["npm run check", undefined],
    ["npm run nothing", "package.json has no script nothing"],
    ["npm run cluster -- explode", "the cluster command has no verb explode"],
    ["npm run proof -- nothing", "there is no proof nothing"],
    ["node tools/nothing.ts", "tools/nothing.ts does not exist"],
    ["deckhand orphans list", undefined],
    ["deckhand explain pod default/web", undefined],
    ["deckhand doctor -o json", undefined],
    ["deckhand nothing at all", 'no test types "deckhand nothing at"'],
    ["curl example.com", `no check is known for "curl"`],
  ] as const) {
    test(`"${line}": ${problem ?? "fine"}`, () => assert.equal(problemOf(line), problem));
  }
});
