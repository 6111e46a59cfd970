/**
 * Puts the bundle into a copy of Node: a single executable that needs nothing else installed. The same bundle,
 * licenses, SBOM and Node give the same bytes. The compiled code inside is reproducible too, because it is compiled
 * under a fixed random seed.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/**
 * A small young generation reduces the resident set. Measured once each on a busy machine, with 30 pods: 4 MB gave 104
 * MB and, after the pods' termination, 112 MB; 1 MB gave 99 and 101 MB. Without pods it was 78 instead of 84 MB. The
 * difference in CPU was not distinguishable from noise.
 */
export const NODE_OPTIONS: readonly string[] = [
  "--max-semi-space-size=2",
  "--disable-warning=ExperimentalWarning",
  // No debugger by signal, no code from strings, no native addons, no `__proto__`: none of these is used.
  "--disable-sigusr1",
  "--disable-proto=delete",
  "--disallow-code-generation-from-strings",
  "--no-addons",
];

/** The bundle's name goes into the executable, so it must not contain a directory. */
const MAIN = "deckhand.js";

export interface ExecutableParts {
  readonly bundle: string;
  /** Assets of the executable, by name. */
  readonly docs: Readonly<Record<string, string>>;
  /** Path of a Node of the running release. */
  readonly node: string;
  /** Whether `node` is for this machine: only then can it use code that is compiled here. */
  readonly forHere: boolean;
}

export function buildExecutable(parts: ExecutableParts, output: string): { readonly stripped: boolean } {
  const work = join(dirname(output), ".executable");
  rmSync(work, { recursive: true, force: true });
  mkdirSync(join(work, "docs"), { recursive: true });
  try {
    const node = join(work, "node");
    copyFileSync(parts.node, node);
    const stripped = parts.forHere && strip(node);
    const docs = Object.entries(parts.docs).map(([name, content]) => {
      const file = join(work, "docs", name);
      writeFileSync(file, content);
      return [name, file] as const;
    });
    copyFileSync(parts.bundle, join(work, MAIN));
    const sea = {
      main: MAIN,
      mainFormat: "module",
      executable: node,
      output: resolve(output),
      disableExperimentalSEAWarning: true,
      useCodeCache: parts.forHere,
      execArgv: NODE_OPTIONS,
      // The environment and the command line cannot add options.
      execArgvExtension: "none",
      assets: Object.fromEntries(docs),
    };
    writeFileSync(join(work, "sea.json"), JSON.stringify(sea));
    // V8 accepts compiled code only under the flags that it was compiled under.
    const build = ["--random-seed=1", "--disallow-code-generation-from-strings", "--build-sea=sea.json"];
    execFileSync(process.execPath, build, { cwd: work, stdio: ["ignore", "ignore", "inherit"] });
    return { stripped };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Removes the symbols, a fifth of the size. Without binutils the executable stays larger. */
function strip(path: string): boolean {
  try {
    execFileSync("strip", [path], { stdio: ["ignore", "ignore", "inherit"] });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}
