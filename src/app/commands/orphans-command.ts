/**
 * The command line of `deckhand orphans`: pod UIDs first if the verb takes them, then the kubelet's flags, so that the
 * command and the agent inspect the same node. `-o json` may stand anywhere.
 */

import type { CompiledOptions } from "../options/compiled-options.ts";
import { FileFault } from "../options/config-files.ts";
import { loadOptions, OptionsFault } from "../options/load-options.ts";
import type { CommandIo } from "./io.ts";
import { cleanOrphans, explainOrphan, listOrphans, type OrphanPorts } from "./orphans.ts";
import { isOutputFormat, OUTPUT, outputFault, takeOwnFlags } from "./own-flags.ts";

/** Opens the ports that the command uses. The command closes them when it ends. */
export type OpenOrphans = (
  options: CompiledOptions,
) => Promise<{ readonly ports: OrphanPorts; close(): Promise<void> }>;

type Verb = "list" | "explain" | "clean";

const USAGES: Readonly<Record<Verb, string>> = {
  list: `Usage: deckhand orphans list [-o text|json] [kubelet flags]

Lists the directories of deleted pods that are still on this node.
`,
  explain: `Usage: deckhand orphans explain UID [-o text|json] [kubelet flags]

Explains why a pod directory is orphaned, what \`deckhand orphans clean\` would do, and what prevents it.
`,
  clean: `Usage: deckhand orphans clean [UID ...] [kubelet flags]

Removes orphaned pod directories: all of them, or those of the given UIDs. It unmounts what the agent mounted, and removes
nothing at or below another mount.
`,
};
const COMMON = `
  -o, --output text|json   output format of list and explain (default text)

Pass the kubelet's flags, so that the command inspects the same node.
Exit codes: 0 ok, 1 the pod is no orphan or was not removed, 2 usage error.
`;

const USAGE_ERROR = 2;

export async function orphansCommand(
  verb: Verb,
  args: readonly string[],
  io: CommandIo,
  open: OpenOrphans,
): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    io.stdout(USAGES[verb] + COMMON);
    return 0;
  }
  const refused = (why: string) => {
    io.stderr(`error: ${why}\n\n${USAGES[verb]}${COMMON}`);
    return USAGE_ERROR;
  };
  const { own, rest } = takeOwnFlags(args, OUTPUT);
  const output = own.get("output") ?? "text";
  if (!isOutputFormat(output)) return refused(outputFault(output));
  if (verb === "clean" && own.has("output")) return refused("clean takes no --output");
  const flagsFrom = rest.findIndex((arg) => arg.startsWith("-"));
  const uids = flagsFrom < 0 ? rest : rest.slice(0, flagsFrom);
  const [uid] = uids;
  if (verb === "explain" && (uid === undefined || uids.length > 1)) return refused("explain takes the UID of one pod");
  if (verb === "list" && uid !== undefined) return refused("list takes no UID");
  const loaded = optionsOf(flagsFrom < 0 ? [] : rest.slice(flagsFrom), io);
  if (loaded.kind === "refused") return refused(loaded.why);
  const { options } = loaded;
  const opened = await open(options);
  const work = { ports: opened.ports, rootDir: options.directories.root, io, signal: new AbortController().signal };
  try {
    if (verb === "list") return await listOrphans(work, output);
    if (verb === "clean") return await cleanOrphans(work, uids);
    return await explainOrphan(work, uid ?? "", output);
  } finally {
    await opened.close();
  }
}

function optionsOf(
  flags: readonly string[],
  io: CommandIo,
):
  | { readonly kind: "options"; readonly options: CompiledOptions }
  | { readonly kind: "refused"; readonly why: string } {
  try {
    const loaded = loadOptions(flags, io.machine());
    if (loaded.kind === "options") return loaded;
    return { kind: "refused", why: "orphans takes no --version" };
  } catch (error) {
    if (!(error instanceof OptionsFault || error instanceof FileFault)) throw error;
    return { kind: "refused", why: error.message };
  }
}
