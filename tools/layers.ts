/** The layers of docs/ARCHITECTURE.md as data: which folder may import from which. The compiler keeps it; a test compares both. */
import { dirname, join } from "node:path";

export interface Layer {
  /** Folder, relative to the repository. */
  readonly folder: string;
  readonly mayImport: readonly string[];
  /** Whether Node's own types are in reach. */
  readonly node: boolean;
  /** Whether it may import packages: below the edges a library's types would bring its world along. */
  readonly packages: boolean;
}

const inner = ["src/base", "src/api", "src/domain", "src/ports", "src/concurrency"] as const;
const source = [...inner, "src/controllers", "src/wire", "src/server", "src/app"] as const;

const layer = (folder: string, mayImport: readonly string[], reach: "pure" | "node" | "packages"): Layer => ({
  folder,
  mayImport,
  node: reach !== "pure",
  packages: reach === "packages",
});

export const layers: readonly Layer[] = [
  layer("src/base", [], "pure"),
  layer("src/api", ["src/base"], "pure"),
  layer("src/domain", ["src/base", "src/api"], "pure"),
  layer("src/ports", ["src/base", "src/api", "src/domain"], "node"),
  layer("src/concurrency", ["src/base", "src/ports"], "node"),
  layer("src/controllers", inner, "node"),
  layer("src/wire", inner, "packages"),
  layer("src/server", inner, "packages"),
  layer("src/app", source.slice(0, -1), "packages"),
  layer(
    "sim",
    source.filter((folder) => folder !== "src/wire"),
    "packages",
  ),
  layer("tools", ["src/base", "src/api"], "packages"),
  layer("test", [...source, "sim", "tools"], "packages"),
  layer("bench", [...source, "tools", "test"], "packages"),
];

/** A package that needs no world and brings none: a tool like those beside it. */
const isPure = ({ folder }: Layer, name: string): boolean => folder === "src/base" && name === "yaml";

/**
 * A unit test sits beside its file but is compiled with `test`, so it may import what tests may. `test` may not import `bench`,
 * so the unit tests of `bench` are compiled with `bench`.
 */
export function layerOf(path: string): Layer | undefined {
  const folder = path.endsWith(".test.ts") && !path.startsWith("bench/") ? "test" : path;
  return layers.find((each) => folder === each.folder || folder.startsWith(`${each.folder}/`));
}

/** The module names a source imports, for types or values, statically or not. */
export function importsOf(sourceText: string): readonly string[] {
  const found = sourceText.matchAll(
    /^\s*(?:import|export)\b[^;"'`]*?\bfrom\s+"([^"]+)"|^\s*import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"/gm,
  );
  return [...found].flatMap(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? []);
}

/** What is wrong with the imports of one file, one sentence each. */
export function importProblems(path: string, sourceText: string): readonly string[] {
  const from = layerOf(path);
  if (from === undefined) return [`${path} is in no layer`];
  return importsOf(sourceText).flatMap((name) => {
    if (name.startsWith("node:")) return [];
    if (!name.startsWith("."))
      return from.packages || isPure(from, name) ? [] : [`${path} imports the package ${name}`];
    const target = join(dirname(path), name);
    const to = layerOf(target);
    if (to === undefined) return target.includes("/") ? [`${path} imports ${target}, which is in no layer`] : [];
    if (from.folder === "sim" && target === "src/app/main.ts")
      return [`${path} imports ${target}, which names adapters`];
    if (from.folder === to.folder || from.mayImport.includes(to.folder)) return [];
    return [`${path} imports ${target}: ${from.folder} may not import ${to.folder}`];
  });
}
