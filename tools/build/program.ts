/** Everything that is shipped, in a folder: the bundle with its papers beside it, and the executable with its own inside. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBundle } from "./bundle.ts";
import { contentsOf, nodeRuntime } from "./contents.ts";
import { buildExecutable } from "./executable.ts";
import { nodeFor, type OtherMachine } from "./other-node.ts";
import { papersOf } from "./papers.ts";

export interface OtherProgram {
  readonly executable: string;
  /** The executable's own. */
  readonly papers: Readonly<Record<string, string>>;
}

export interface BuiltProgram extends OtherProgram {
  readonly folder: string;
  readonly bundle: string;
  /** What is in the bundle. */
  readonly sources: readonly string[];
  /** Whether Node's symbols could be left out of it. */
  readonly stripped: boolean;
}

/** One more executable beside it, `deckhand-<machine>`. It cannot be tried here. */
export function buildForOther({ folder, bundle, sources }: BuiltProgram, machine: OtherMachine): OtherProgram {
  const node = nodeFor(machine);
  const papers = papersOf(contentsOf(sources, nodeRuntime(node)));
  const executable = join(folder, `deckhand-${machine}`);
  buildExecutable({ bundle, papers, node, forHere: false }, executable);
  return { executable, papers };
}

/** Whatever the folder held is removed. */
export async function buildProgram(folder: string): Promise<BuiltProgram> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const bundle = join(folder, "deckhand.js");
  const sources = await buildBundle(bundle);
  for (const [name, content] of Object.entries(papersOf(contentsOf(sources)))) {
    writeFileSync(join(folder, name), content);
  }
  const executable = join(folder, "deckhand");
  const node = process.execPath;
  const papers = papersOf(contentsOf(sources, nodeRuntime(node)));
  const { stripped } = buildExecutable({ bundle, papers, node, forHere: true }, executable);
  return { folder, bundle, sources, executable, papers, stripped };
}
