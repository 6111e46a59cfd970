/**
 * Puts the bundle into a copy of Node: one program without anything to install beside it. The same bundle, papers and Node give the same bytes, also
 * of the compiled code inside, which has nothing random in it: it was compiled under a fixed seed.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/**
 * A small young generation keeps the resident set down. Measured once each on a busy machine, with 30 pods: 4 MB left 104 MB and, after their end, 112 MB; 1 MB left
 * 99 and 101 MB, 78 instead of 84 MB without pods, with no difference in CPU that could be told from noise.
 */
export const NODE_OPTIONS: readonly string[] = [
  "--max-semi-space-size=2",
  "--disable-warning=ExperimentalWarning",
  // No debugger by signal, no code from text or from native modules, no way to reach a prototype through a property: none of it is used.
  "--disable-sigusr1",
  "--disable-proto=delete",
  "--disallow-code-generation-from-strings",
  "--no-addons",
];

/** The name of the bundle goes into the program, and so no folder may be in it. */
const MAIN = "deckhand.js";

export interface ExecutableParts {
  readonly bundle: string;
  /** Texts that the program finds by these names inside itself. */
  readonly papers: Readonly<Record<string, string>>;
  /** Of the release that runs this. */
  readonly node: string;
  /** Whether that is for this machine: only then can what is compiled here be of use to it. */
  readonly forHere: boolean;
}

export function buildExecutable(parts: ExecutableParts, output: string): { readonly stripped: boolean } {
  const work = join(dirname(output), ".executable");
  rmSync(work, { recursive: true, force: true });
  mkdirSync(join(work, "papers"), { recursive: true });
  try {
    const node = join(work, "node");
    copyFileSync(parts.node, node);
    const stripped = parts.forHere && strip(node);
    const papers = Object.entries(parts.papers).map(([name, content]) => {
      const file = join(work, "papers", name);
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
      // Neither the environment nor the command line adds to them.
      execArgvExtension: "none",
      assets: Object.fromEntries(papers),
    };
    writeFileSync(join(work, "sea.json"), JSON.stringify(sea));
    // The engine takes compiled code only under the flags that it was compiled under.
    const build = ["--random-seed=1", "--disallow-code-generation-from-strings", "--build-sea=sea.json"];
    execFileSync(process.execPath, build, { cwd: work, stdio: ["ignore", "ignore", "inherit"] });
    return { stripped };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Takes the symbols out, a fifth of the size. A machine without binutils builds a bigger program. */
function strip(path: string): boolean {
  try {
    execFileSync("strip", [path], { stdio: ["ignore", "ignore", "inherit"] });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}
