/**
 * `deckhand` and its subcommands. Called by the name `kubelet`, the program has the kubelet's command line; called by
 * the name `kubectl-why`, it is a plugin of kubectl.
 */
import { Argument, Command, CommanderError, Option } from "commander";
import { errorText } from "../../base/error-text.ts";
import type { ExplanationPorts } from "../../controllers/explain/explanations.ts";
import type { AskAgent } from "../ask-agent.ts";
import { DECKHAND_VERSION, KUBERNETES_VERSION } from "../version.ts";
import { completionScript, SHELLS, type Shell } from "./completion.ts";
import { configCheckCommand } from "./config-check.ts";
import { whatIfCommand } from "./eviction.ts";
import { explainNodeCommand, explainPodCommand } from "./explain.ts";
import { gcPlanCommand } from "./gc.ts";
import type { CommandIo, EmbeddedDoc, ReadEmbeddedDoc, StartKubelet } from "./io.ts";
import { kubectlWhyCommand, type RunKubectl } from "./kubectl-why.ts";
import { kubeletCommand } from "./kubelet.ts";
import { type OpenOrphans, orphansCommand } from "./orphans-command.ts";
import { withProgress } from "./progress.ts";

export interface Invocation {
  /** The last element of the path by which the program was called. */
  readonly name: string;
  readonly args: readonly string[];
}

/** Dependencies of the subcommands. Only the subcommand that runs opens them. */
export interface CommandParts {
  readonly openOrphans: OpenOrphans;
  readonly doctor: (args: readonly string[], io: CommandIo) => Promise<number>;
  readonly explainPorts: ExplanationPorts;
  readonly readEmbeddedDoc: ReadEmbeddedDoc;
  readonly runKubectl: RunKubectl;
  readonly askAgent: AskAgent;
}

const VERSION = `deckhand ${DECKHAND_VERSION} (Kubernetes ${KUBERNETES_VERSION})`;

const USAGE_ERROR = 2;

/** Runs a subcommand with its arguments and stores its exit code. */
type KeepExitCode = (
  run: (args: readonly string[]) => number | Promise<number>,
) => (args: readonly string[]) => Promise<void>;

/** Returns the exit code. */
export async function runProgram(
  { name, args }: Invocation,
  io: CommandIo,
  start: StartKubelet,
  parts: CommandParts,
): Promise<number> {
  if (name === "kubelet") return kubeletCommand(args, io, start);
  if (name === "kubectl-why") {
    return withProgress(io, "Waiting for the API server", () => kubectlWhyCommand(args, io, parts.runKubectl));
  }
  let exitCode = 0;
  const keepExitCode: KeepExitCode = (run) => async (subcommandArgs) => {
    exitCode = await run(subcommandArgs);
  };
  const program = new Command("deckhand")
    .description(`A Kubernetes node agent: a drop-in for the Go kubelet ${KUBERNETES_VERSION}`)
    .version(VERSION, "--version", "print the version and exit")
    .exitOverride()
    .enablePositionalOptions()
    .configureOutput({ writeOut: (text) => io.stdout(text), writeErr: (text) => io.stderr(text) });
  passThrough(program.command("kubelet"), "run the node agent; takes the kubelet's flags").action(
    keepExitCode((flags) => kubeletCommand(flags, io, start)),
  );
  addConfigCommands(program, io, keepExitCode);
  addOrphansCommands(program, io, parts, keepExitCode);
  addExplainCommands(program, io, parts, keepExitCode);
  addGcCommands(program, io, parts, keepExitCode);
  addEvictionCommands(program, io, parts, keepExitCode);
  passThrough(program.command("doctor"), "check whether this host can run a node; takes the kubelet's flags").action(
    keepExitCode((flags) => withProgress(io, "Checking this host", () => parts.doctor(flags, io))),
  );
  addEmbeddedDocs(program, io, parts, keepExitCode);
  addCompletionCommand(program, io);
  program
    .command("version")
    .description("print the version")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .action(({ output }: { readonly output: string }) =>
      io.stdout(
        output === "json"
          ? `${JSON.stringify({ deckhand: DECKHAND_VERSION, kubernetes: KUBERNETES_VERSION })}\n`
          : `${VERSION}\n`,
      ),
    );
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
    throw error;
  }
}

function addConfigCommands(program: Command, io: CommandIo, keepExitCode: KeepExitCode): void {
  const config = program.command("config").description("inspect the configuration").enablePositionalOptions();
  passThrough(
    config.command("check"),
    "print the effective configuration, the origin of each value, and warnings; takes the kubelet's flags",
  ).action(keepExitCode((flags) => configCheckCommand(flags, io)));
}

const ORPHANS_COMMANDS = [
  ["list", "list orphaned pod directories"],
  [
    "explain",
    "explain why a pod directory is orphaned and what clean would do; takes its UID, then the kubelet's flags",
  ],
  ["clean", "remove orphaned pod directories, all or those whose UIDs precede the kubelet's flags"],
] as const;

const ORPHANS_ACTIVITY = "Reading the pod directories, their mounts and the runtime's pods";

function addOrphansCommands(
  program: Command,
  io: CommandIo,
  { openOrphans }: CommandParts,
  keepExitCode: KeepExitCode,
): void {
  const orphans = program
    .command("orphans")
    .description("find and remove directories and mounts left by deleted pods")
    .enablePositionalOptions();
  for (const [verb, description] of ORPHANS_COMMANDS) {
    passThrough(orphans.command(verb), description).action(
      keepExitCode((args) => withProgress(io, ORPHANS_ACTIVITY, () => orphansCommand(verb, args, io, openOrphans))),
    );
  }
}

const EXPLAIN_ACTIVITY = "Reading the journal";

function addExplainCommands(
  program: Command,
  io: CommandIo,
  { explainPorts }: CommandParts,
  keepExitCode: KeepExitCode,
): void {
  const explain = program
    .command("explain")
    .alias("why")
    .description("explain the state of a pod on this node, or of the node")
    .enablePositionalOptions();
  passThrough(
    explain.command("pod"),
    "explain the state of a pod and how the pod got there; works without the agent",
  ).action(keepExitCode((args) => withProgress(io, EXPLAIN_ACTIVITY, () => explainPodCommand(args, io, explainPorts))));
  passThrough(
    explain.command("node"),
    "explain the node's conditions and what the agent waits for; works without the agent",
  ).action(
    keepExitCode((args) => withProgress(io, EXPLAIN_ACTIVITY, () => explainNodeCommand(args, io, explainPorts))),
  );
}

function addGcCommands(program: Command, io: CommandIo, { askAgent }: CommandParts, keepExitCode: KeepExitCode): void {
  const gc = program.command("gc").description("inspect the garbage collection of images").enablePositionalOptions();
  passThrough(gc.command("plan"), "print which images the running agent would remove next, and why others stay").action(
    keepExitCode((args) => withProgress(io, "Asking the agent", () => gcPlanCommand(args, io, askAgent))),
  );
}

function addEvictionCommands(
  program: Command,
  io: CommandIo,
  { askAgent }: CommandParts,
  keepExitCode: KeepExitCode,
): void {
  const eviction = program.command("eviction").description("inspect the eviction of pods").enablePositionalOptions();
  passThrough(
    eviction.command("what-if"),
    "print which pods the running agent would evict if other amounts were available",
  ).action(keepExitCode((args) => withProgress(io, "Asking the agent", () => whatIfCommand(args, io, askAgent))));
}

function addCompletionCommand(program: Command, io: CommandIo): void {
  program
    .command("completion")
    .description("print a script that completes commands and flags in a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .action((shell: Shell) => io.stdout(completionScript(program, shell)));
}

const EMBEDDED_DOCS = [
  ["licences", "print the licences of everything in this program"],
  ["sbom", "print the bill of materials of this program, as CycloneDX"],
] as const;

function addEmbeddedDocs(
  program: Command,
  io: CommandIo,
  { readEmbeddedDoc }: CommandParts,
  keepExitCode: KeepExitCode,
): void {
  for (const [doc, description] of EMBEDDED_DOCS) {
    program
      .command(doc)
      .description(description)
      .action(keepExitCode(() => printEmbeddedDoc(doc, io, readEmbeddedDoc)));
  }
}

async function printEmbeddedDoc(doc: EmbeddedDoc, io: CommandIo, readEmbeddedDoc: ReadEmbeddedDoc): Promise<number> {
  try {
    io.stdout(await readEmbeddedDoc(doc));
    return 0;
  } catch (error) {
    io.stderr(`error: ${errorText(error)}\n`);
    return 1;
  }
}

/** Commander does not parse the flags after the subcommand: they are the kubelet's. */
function passThrough(command: Command, description: string): Command {
  return command
    .description(description)
    .argument("[flags...]", "flags of the kubelet")
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .passThroughOptions();
}
