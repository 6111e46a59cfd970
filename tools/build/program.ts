/** Everything that is shipped, in a folder: the bundle with its papers beside it, and the executable with its own inside. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBundle } from "./bundle.ts";
import { contentsOf, nodeRuntime } from "./contents.ts";
import { buildExecutable } from "./executable.ts";
import { papersOf } from "./papers.ts";

export interface BuiltProgram {
  readonly bundle: string;
  readonly executable: string;
  /** Whether Node's symbols could be left out of it. */
  readonly stripped: boolean;
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
  return { bundle, executable, stripped };
}
