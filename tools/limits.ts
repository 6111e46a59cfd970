/**
 * Lists the limits on external input: every constant of the layers' `limits.ts` with its comment, its value, and the
 * tests that name it. docs/security.md contains the table; a test keeps it up to date.
 */
import { globSync, readFileSync } from "node:fs";
import { inRepository, repositoryRoot } from "./repository.ts";

export const LIMIT_MODULES: readonly string[] = ["domain", "controllers", "wire", "server", "app"].map(
  (layer) => `src/${layer}/limits.ts`,
);

export interface Limit {
  readonly name: string;
  readonly what: string;
  readonly value: number;
  readonly tests: readonly string[];
}

/** A one-line comment, followed by a constant or a member of an object. */
const DECLARED = /\/\*\* (?<what>[^\n]*) \*\/\n(?:export const (?<name>[A-Z_]+) =|\s+(?<member>\w+):)/g;

/** The limits of one module, in the order of their declarations. */
export async function limitsOf(path: string): Promise<readonly Limit[]> {
  const said = new Map<string, string>();
  for (const { groups } of readFileSync(inRepository(path), "utf8").matchAll(DECLARED)) {
    said.set(groups?.["name"] ?? groups?.["member"] ?? "", groups?.["what"] ?? "");
  }
  return flat((await import(inRepository(path))) as object).map(({ name, value }) => ({
    name,
    what: said.get(name.split(".").at(-1) ?? name) ?? "",
    value,
    tests: testsOf(name),
  }));
}

const flat = (exports: object, prefix = ""): readonly Pick<Limit, "name" | "value">[] =>
  Object.entries(exports).flatMap(([name, value]: [string, unknown]) =>
    typeof value === "number" ? [{ name: `${prefix}${name}`, value }] : flat(value as object, `${name}.`),
  );

const TEST_FILES = globSync(["src/**/*.test.ts", "sim/**/*.test.ts", "test/**/*.ts"], { cwd: repositoryRoot })
  .toSorted()
  .map((path) => ({ path, text: readFileSync(inRepository(path), "utf8") }));

function testsOf(name: string): readonly string[] {
  const named = new RegExp(`\\b${name.replace(".", "\\.")}\\b`);
  return TEST_FILES.filter(({ text }) => named.test(text)).map(({ path }) => path);
}

const KIB = 1024;

/** Formats a value with the unit that the name ends in. */
export function valueText({ name, value }: Pick<Limit, "name" | "value">): string {
  if (/bytes_?max$/i.test(name)) {
    for (const [unit, size] of [
      ["GiB", KIB ** 3],
      ["MiB", KIB ** 2],
      ["KiB", KIB],
    ] as const) {
      if (value % size === 0) return `${value / size} ${unit}`;
    }
    return `${value} bytes`;
  }
  if (/(?:Ms|_MS)(?:Max|_MAX)?$/.test(name)) return value % 1000 === 0 ? `${value / 1000} s` : `${value} ms`;
  return /chars_?max$/i.test(name) ? `${value} characters` : String(value);
}

export async function limitsAsMarkdown(): Promise<string> {
  const lines = ["| Limit | What it bounds | Value | Tests |", "|---|---|---|---|"];
  for (const module of LIMIT_MODULES) {
    lines.push(`| **\`${module}\`** | | | |`);
    for (const limit of await limitsOf(module)) {
      const { name, what, tests } = limit;
      lines.push(`| \`${name}\` | ${what} | ${valueText(limit)} | ${tests.map((test) => `\`${test}\``).join(" ")} |`);
    }
  }
  return `${lines.join("\n")}\n`;
}
