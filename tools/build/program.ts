/**
 * Builds all that ships into a directory: the bundle, its licenses and SBOM beside it, and the executable with its own.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBundle } from "./bundle.ts";
import { contentsOf, nodeRuntime } from "./contents.ts";
import { embeddedDocsOf } from "./embedded-docs.ts";
import { buildExecutable } from "./executable.ts";
import { nodeFor, type OtherMachine } from "./other-node.ts";

export interface OtherProgram {
  readonly executable: string;
  /** The licenses and SBOM of the executable. */
  readonly docs: Readonly<Record<string, string>>;
}

export interface BuiltProgram extends OtherProgram {
  readonly directory: string;
  readonly bundle: string;
  /** The sources in the bundle. */
  readonly sources: readonly string[];
  /** Whether Node's symbols were stripped from the executable. */
  readonly stripped: boolean;
}

/** Builds one more executable beside it, `deckhand-<machine>`. It cannot be run on this machine. */
export function buildForOther({ directory, bundle, sources }: BuiltProgram, machine: OtherMachine): OtherProgram {
  const node = nodeFor(machine);
  const docs = embeddedDocsOf(contentsOf(sources, nodeRuntime(node)));
  const executable = join(directory, `deckhand-${machine}`);
  buildExecutable({ bundle, docs, node, forHere: false }, executable);
  return { executable, docs };
}

/** Removes the directory's previous contents. */
export async function buildProgram(directory: string): Promise<BuiltProgram> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const bundle = join(directory, "deckhand.js");
  const sources = await buildBundle(bundle);
  for (const [name, content] of Object.entries(embeddedDocsOf(contentsOf(sources)))) {
    writeFileSync(join(directory, name), content);
  }
  const executable = join(directory, "deckhand");
  const node = process.execPath;
  const docs = embeddedDocsOf(contentsOf(sources, nodeRuntime(node)));
  const { stripped } = buildExecutable({ bundle, docs, node, forHere: true }, executable);
  return { directory, bundle, sources, executable, docs, stripped };
}
