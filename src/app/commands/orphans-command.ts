/** The command line of `deckhand orphans`: UIDs first where a verb takes them, then the kubelet's own flags, so that both look at the same node. */

import type { CompiledOptions } from "../options/compiled-options.ts";
import { FileFault } from "../options/config-files.ts";
import { loadOptions, OptionsFault } from "../options/load-options.ts";
import type { CommandIo } from "./io.ts";
import { cleanOrphans, explainOrphan, listOrphans, type OrphanPorts } from "./orphans.ts";

/** Opens what the command looks at; closed when it is done. */
export type OpenOrphans = (
  options: CompiledOptions,
) => Promise<{ readonly ports: OrphanPorts; close(): Promise<void> }>;

export async function orphansCommand(
  verb: "list" | "explain" | "clean",
  args: readonly string[],
  io: CommandIo,
  open: OpenOrphans,
): Promise<number> {
  const flagsFrom = args.findIndex((arg) => arg.startsWith("-"));
  const uids = flagsFrom < 0 ? args : args.slice(0, flagsFrom);
  const options = optionsOrSay(flagsFrom < 0 ? [] : args.slice(flagsFrom), io);
  if (options === undefined) return 1;
  const [uid] = uids;
  if (verb === "explain" && uid === undefined) {
    io.stderr("error: explain takes the UID of a pod\n");
    return 1;
  }
  const opened = await open(options);
  const work = { ports: opened.ports, rootDir: options.folders.root, io, signal: new AbortController().signal };
  try {
    if (verb === "list") return await listOrphans(work);
    if (verb === "clean") return await cleanOrphans(work, uids);
    return await explainOrphan(work, uid ?? "");
  } finally {
    await opened.close();
  }
}

function optionsOrSay(flags: readonly string[], io: CommandIo): CompiledOptions | undefined {
  try {
    const loaded = loadOptions(flags, io.machine());
    if (loaded.kind === "options") return loaded.options;
    io.stderr("error: orphans takes no --help and no --version among the kubelet's flags\n");
  } catch (error) {
    if (!(error instanceof OptionsFault || error instanceof FileFault)) throw error;
    io.stderr(`error: ${error.message}\n`);
  }
  return undefined;
}
