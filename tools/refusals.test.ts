/**
 * Proves that the tools of `npm run check` reject known-bad files, with this repository's own configuration, in a
 * temporary tree. Known-good counterparts must pass, so that a rule which rejects everything fails the test too.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { inRepository, repositoryRoot } from "./repository.ts";
import { scratch } from "./scratch.ts";
import { fields, list, parseJson, text } from "./shape.ts";

interface Bad {
  readonly what: string;
  readonly file: string;
  readonly source: string;
  readonly code: string;
  /** Text that the message must contain, such as what to write instead. */
  readonly says: string;
}

interface Good {
  readonly what: string;
  readonly file: string;
  readonly source: string;
}

const USE_CLOCK = "use the Clock port (src/ports/clock.ts)";
const USE_RANDOM = "use the Random port (src/ports/random.ts)";
const USE_LINKS = "use linkSignals or withDeadline (src/concurrency)";
const USE_PORT = "the outside world is reached through a port";

const globals = "eslint(no-restricted-globals)";
const properties = "eslint(no-restricted-properties)";
const imports = "eslint(no-restricted-imports)";

const importOf = (name: string, from: string) =>
  `import { ${name} } from ${JSON.stringify(from)};\nexport const x = ${name};`;
const typeImportOf = (name: string, from: string) =>
  `import type { ${name} } from ${JSON.stringify(from)};\nexport type X = typeof ${name};`;
const value = (expression: string) => `export const x = ${expression};`;

const layerCases: readonly (readonly [what: string, directory: string, source: string, code: string, says: string])[] =
  [
    [
      "domain importing controllers",
      "domain",
      importOf("inControllers", "../controllers/fine.ts"),
      "TS6307",
      "controllers/fine.ts",
    ],
    [
      "domain importing ports, as a type",
      "domain",
      typeImportOf("inPorts", "../ports/fine.ts"),
      "TS6307",
      "ports/fine.ts",
    ],
    [
      "wire importing controllers",
      "wire",
      importOf("inControllers", "../controllers/fine.ts"),
      "TS6307",
      "controllers/fine.ts",
    ],
    ["process in domain", "domain", value("process.pid"), "TS2591", "'process'"],
    ["setTimeout in domain", "domain", value("setTimeout"), "TS2304", "'setTimeout'"],
    ["AbortSignal in domain", "domain", "export type X = AbortSignal;", "TS2304", "'AbortSignal'"],
    ["console in domain", "domain", value("console.log"), "TS2584", "'console'"],
    ["node:fs in domain", "domain", importOf("readFileSync", "node:fs"), "TS2591", "'node:fs'"],
    [
      // In domain it would make Node's types available to the whole layer, and this test's other cases would pass.
      "the types of Node brought back by a comment",
      "controllers",
      '/// <reference types="node" />\nexport {};',
      "typescript(triple-slash-reference)",
      "reference",
    ],
    [
      "an error of the compiler hushed up",
      "domain",
      `// @ts-ignore\n${value("process.pid")}`,
      "typescript(ban-ts-comment)",
      "@ts-ignore",
    ],
  ];

const lintCases: typeof layerCases = [
  ["Date.now()", "controllers", value("Date.now()"), properties, USE_CLOCK],
  ["Date.now taken apart", "controllers", "const { now } = Date;\nexport const x = now;", properties, USE_CLOCK],
  ["bare new Date()", "controllers", value("new Date()"), "deckhand(bare-date)", "take the time from the Clock port"],
  ["Date() as a function", "controllers", value("Date()"), "deckhand(bare-date)", "take the time from the Clock port"],
  ["setTimeout", "controllers", value("setTimeout"), globals, USE_CLOCK],
  ["performance.now()", "controllers", value("performance.now()"), properties, USE_CLOCK],
  [
    "a clock by way of globalThis",
    "controllers",
    value("globalThis.performance"),
    globals,
    "name what is needed itself",
  ],
  ["a clock by way of global", "controllers", value("global.performance"), globals, "name what is needed itself"],
  ["a module by way of process", "controllers", value(`process.getBuiltinModule("fs")`), properties, "import what"],
  ["a module by way of require", "controllers", importOf("createRequire", "node:module"), imports, "import what"],
  ["a module imported as the program runs", "controllers", value(`import("node:fs")`), imports, USE_PORT],
  ["hrtime, imported in wire", "wire", importOf("hrtime", "node:process"), imports, "use the global process"],
  [
    "node:crypto under another name",
    "controllers",
    `import c from "node:crypto";\nexport const x = c;`,
    imports,
    USE_RANDOM,
  ],
  ["fetch", "controllers", value("fetch"), globals, USE_PORT],
  ["process.hrtime()", "controllers", value("process.hrtime()"), properties, USE_CLOCK],
  ["timers/promises", "controllers", importOf("setInterval", "node:timers/promises"), imports, USE_CLOCK],
  ["Math.random()", "controllers", value("Math.random()"), properties, USE_RANDOM],
  ["crypto.randomUUID(), the global", "controllers", value("crypto.randomUUID()"), properties, USE_RANDOM],
  ["randomUUID, imported", "controllers", importOf("randomUUID", "node:crypto"), imports, USE_RANDOM],
  ["AbortSignal.any()", "controllers", value("AbortSignal.any([])"), properties, USE_LINKS],
  ["AbortSignal.timeout()", "controllers", value("AbortSignal.timeout(1)"), properties, USE_LINKS],
  ["process.env", "controllers", value(`process.env["HOME"]`), properties, USE_PORT],
  ["node:child_process", "controllers", importOf("spawn", "node:child_process"), imports, USE_PORT],
  ["node:net in a controller", "controllers", importOf("connect", "node:net"), imports, USE_PORT],
  ["node:fs in server", "server", importOf("readFileSync", "node:fs"), imports, USE_PORT],
  ["Date.now() in wire, outside wire/host", "wire", value("Date.now()"), properties, USE_CLOCK],
  [
    "a floating promise",
    "controllers",
    "const work = async () => {};\nexport function x(): void {\n  work();\n}",
    "typescript(no-floating-promises)",
    "must be awaited",
  ],
  [
    "a switch that forgets a member",
    "controllers",
    `export function x(s: "a" | "b"): void {\n  switch (s) {\n    case "a":\n      break;\n  }\n}`,
    "typescript(switch-exhaustiveness-check)",
    `"b"`,
  ],
  ["any", "controllers", "export const x: any = 1;", "typescript(no-explicit-any)", "Use `unknown`"],
];

const bad: readonly Bad[] = [
  ...[...layerCases, ...lintCases].map(([what, directory, source, code, says], index) => ({
    what,
    file: `src/${directory}/bad-${index}.ts`,
    source,
    code,
    says,
  })),
  {
    what: "a function of more than 70 lines",
    file: "src/domain/long.ts",
    source: `export function long(): void {\n${"  void 0;\n".repeat(69)}}`,
    code: "eslint(max-lines-per-function)",
    says: "71",
  },
  {
    what: "a function of more than five parameters",
    file: "src/domain/wide.ts",
    source: "export const wide = (a: 1, b: 1, c: 1, d: 1, e: 1, f: 1): number => a + b + c + d + e + f;",
    code: "eslint(max-params)",
    says: "Maximum allowed is 5",
  },
  {
    what: "an import cycle",
    file: "src/controllers/cycle-a.ts",
    source: `import { b } from "./cycle-b.ts";\nexport const a = (): number => b();`,
    code: "import(no-cycle)",
    says: "cycle",
  },
  {
    what: "setImmediate in sim, outside drain.ts",
    file: "sim/bad.ts",
    source: value("setImmediate"),
    code: globals,
    says: USE_CLOCK,
  },
];

const good: readonly Good[] = [
  ["domain importing base", "src/domain/good-a.ts", importOf("inBase", "../base/fine.ts")],
  ["controllers importing domain", "src/controllers/good-a.ts", importOf("inDomain", "../domain/fine.ts")],
  ["wire importing ports, as a type", "src/wire/good-a.ts", typeImportOf("inPorts", "../ports/fine.ts")],
  ["new Date(ms) in a controller", "src/controllers/good-b.ts", value("new Date(5)")],
  ["AbortSignal as a type in a controller", "src/controllers/good-c.ts", "export type X = AbortSignal;"],
  ["createHash in a controller", "src/controllers/good-d.ts", importOf("createHash", "node:crypto")],
  ["node:net in server", "src/server/good-a.ts", importOf("connect", "node:net")],
  ["the connections of wire by fetch", "src/wire/good-c.ts", value("fetch")],
  ["node:fs in wire", "src/wire/good-b.ts", importOf("readFileSync", "node:fs")],
  ["process.env in app", "src/app/good-a.ts", value(`process.env["HOME"]`)],
  ["Date.now() in wire/host", "src/wire/host/good-a.ts", value("Date.now()")],
  ["setImmediate in sim/drain.ts", "sim/drain.ts", value("setImmediate")],
  [
    "an awaited promise",
    "src/controllers/good-e.ts",
    "const work = async () => {};\nexport async function x(): Promise<void> {\n  await work();\n}",
  ],
  [
    "a switch over every member",
    "src/controllers/good-f.ts",
    `export function x(s: "a" | "b"): void {\n  switch (s) {\n    case "a":\n      break;\n    case "b":\n      break;\n  }\n}`,
  ],
  ["unknown", "src/controllers/good-g.ts", "export const x: unknown = 1;"],
].map(([what = "", file = "", source = ""]) => ({ what, file, source }));

interface Finding {
  readonly file: string;
  readonly code: string;
  readonly message: string;
}

const program = (path: string) => inRepository(`node_modules/${path}`);

/** Returns one finding per error; the indented lines that explain an error are left out. */
function typeErrors(root: string): readonly Finding[] {
  const { stdout } = spawnSync(process.execPath, [program("typescript/bin/tsc"), "-b", "sim", "--pretty", "false"], {
    cwd: root,
    encoding: "utf8",
  });
  return stdout.split("\n").flatMap((line) => {
    const [, file, code, message] = /^(.+?)\(\d+,\d+\): error (TS\d+): (.*)$/.exec(line) ?? [];
    return file === undefined || code === undefined || message === undefined ? [] : [{ file, code, message }];
  });
}

function lintErrors(root: string): readonly Finding[] {
  const args = [program("oxlint/bin/oxlint"), "--deny-warnings", "-f", "json", "src", "sim"];
  const { stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  return list(fields(parseJson(stdout), "oxlint")["diagnostics"], "diagnostics", (each, where) => {
    const { filename, code, message, help } = fields(each, where);
    const advice = typeof help === "string" ? ` ${help}` : "";
    return { file: text(filename, where), code: text(code, where), message: `${text(message, where)}${advice}` };
  });
}

describe("npm run check", () => {
  const tree = scratch();
  after(() => tree[Symbol.dispose]());
  tree.copy("tsconfig.base.json", "oxlint.config.ts", "tools/lint", "sim/tsconfig.json");
  tree.linkPackages();
  tree.write("package.json", `{ "type": "module" }`);
  for (const layer of ["base", "api", "domain", "ports", "concurrency", "controllers", "wire", "server", "app"]) {
    tree.copy(`src/${layer}/tsconfig.json`);
    const name = `in${layer.charAt(0).toUpperCase()}${layer.slice(1)}`;
    tree.write(`src/${layer}/fine.ts`, `export const ${name} = 1;\n`);
  }
  tree.write("src/controllers/cycle-b.ts", `import { a } from "./cycle-a.ts";\nexport const b = (): number => a();\n`);
  for (const { file, source } of [...bad, ...good]) tree.write(file, `${source}\n`);
  const findings = [...typeErrors(tree.root), ...lintErrors(tree.root)];

  for (const { what, file, code, says } of bad) {
    test(`rejects ${what}`, () => {
      const ofFile = findings.filter((finding) => finding.file === file);
      const wanted = ofFile.filter((finding) => finding.code === code && finding.message.includes(says));
      assert.equal(
        wanted.length,
        1,
        `${code} saying "${says}" expected once, found ${JSON.stringify(ofFile, null, 1)}`,
      );
    });
  }

  for (const { what, file } of good) {
    test(`accepts ${what}`, () => {
      assert.deepEqual(
        findings.filter((finding) => finding.file === file),
        [],
      );
    });
  }

  test("no comment in src or sim disables a rule; elsewhere a comment disables a single named rule", () => {
    const files = globSync("{src,sim,test,tools,bench}/**/*.{ts,js}", { cwd: repositoryRoot });
    const own = files.filter((file) => !/\/gen\/|refusals\.test\.ts$/.test(file));
    assert.ok(own.length > 40, `only ${own.length} files found`);
    const found = own.flatMap((file) =>
      readFileSync(inRepository(file), "utf8")
        .split("\n")
        .filter((line) => /(oxlint|eslint)-disable|biome-ignore/.test(line))
        .filter((line) => /^(src|sim)\//.test(file) || !/-disable-next-line [a-z-]+\/[a-z-]+: \w/.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
    assert.deepEqual(found, []);
  });

  test("runs tsc, oxlint, biome and knip, and fails on a warning", () => {
    const { scripts } = fields(parseJson(readFileSync(inRepository("package.json"), "utf8")), "package.json");
    const check = text(fields(scripts, "scripts")["check"], "check");
    assert.deepEqual(
      check.split(" && ").map((step) => step.split(" ")[0]),
      ["tsc", "oxlint", "biome", "knip"],
    );
    assert.match(check, /tsc -b && oxlint --deny-warnings/);
  });
});
