/**
 * The layers of docs/ARCHITECTURE.md as data: which directory may import from which. The compiler enforces them through
 * project references; a test compares both.
 */
import { dirname, join } from "node:path";

export interface Layer {
  /** Directory, relative to the repository. */
  readonly directory: string;
  readonly mayImport: readonly string[];
  /** Whether Node's types are available. */
  readonly node: boolean;
  /** Whether it may import packages: in the inner layers a library's types would bring in further dependencies. */
  readonly packages: boolean;
}

const inner = ["src/base", "src/api", "src/domain", "src/ports", "src/concurrency"] as const;
const source = [...inner, "src/controllers", "src/wire", "src/server", "src/app"] as const;

const layer = (directory: string, mayImport: readonly string[], reach: "pure" | "node" | "packages"): Layer => ({
  directory,
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
    source.filter((directory) => directory !== "src/wire"),
    "packages",
  ),
  layer("tools", ["src/base", "src/api"], "packages"),
  layer("test", [...source, "sim", "tools"], "packages"),
  layer("bench", [...source, "tools", "test"], "packages"),
];

/** A pure library; a layer without packages may use it like the code beside it. */
const isPure = ({ directory }: Layer, name: string): boolean => directory === "src/base" && name === "yaml";

/**
 * A unit test is beside its file but is compiled with `test`, so it may import what tests may. `test` may not import
 * `bench`, so the unit tests of `bench` are compiled with `bench`.
 */
export function layerOf(path: string): Layer | undefined {
  const directory = path.endsWith(".test.ts") && !path.startsWith("bench/") ? "test" : path;
  return layers.find((each) => directory === each.directory || directory.startsWith(`${each.directory}/`));
}

/** The module names that a source imports, for types or values, statically or dynamically. */
export function importsOf(sourceText: string): readonly string[] {
  const found = sourceText.matchAll(
    /^\s*(?:import|export)\b[^;"'`]*?\bfrom\s+"([^"]+)"|^\s*import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"/gm,
  );
  return [...found].flatMap(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? []);
}

/** The problems with the imports of one file, one sentence each. */
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
    if (from.directory === "sim" && target === "src/app/main.ts")
      return [`${path} imports ${target}, which names adapters`];
    if (from.directory === to.directory || from.mayImport.includes(to.directory)) return [];
    return [`${path} imports ${target}: ${from.directory} may not import ${to.directory}`];
  });
}
