/** `deckhand` and its subcommands; called by the name `kubelet`, the kubelet's own command line. */
import { Command, CommanderError } from "commander";
import { errorText } from "../../base/error-text.ts";
import { DECKHAND_VERSION, KUBERNETES_VERSION } from "../version.ts";
import { configCheckCommand } from "./config-check.ts";
import { type ExplainPorts, explainPodCommand } from "./explain.ts";
import type { CommandIo, Paper, ReadPaper, StartKubelet } from "./io.ts";
import { kubeletCommand } from "./kubelet.ts";
import { type OpenOrphans, orphansCommand } from "./orphans-command.ts";

export interface Invocation {
  /** The last part of the path that was called. */
  readonly name: string;
  readonly args: readonly string[];
}

/** What the subcommands look through, opened by those that are called. */
export interface CommandParts {
  readonly openOrphans: OpenOrphans;
  readonly doctor: (args: readonly string[], io: CommandIo) => Promise<number>;
  readonly explainPorts: ExplainPorts;
  readonly readPaper: ReadPaper;
}

const VERSION = `deckhand ${DECKHAND_VERSION} (Kubernetes ${KUBERNETES_VERSION})`;

/** Runs a subcommand with its arguments, and keeps its exit code. */
type KeepExitCode = (
  run: (args: readonly string[]) => number | Promise<number>,
) => (args: readonly string[]) => Promise<void>;

/** The exit code. */
export async function runProgram(
  { name, args }: Invocation,
  io: CommandIo,
  start: StartKubelet,
  parts: CommandParts,
): Promise<number> {
  if (name === "kubelet") return kubeletCommand(args, io, start);
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
  passThrough(
    program.command("doctor"),
    "say what on this host would stop or hurt a node, and what to do about it; takes the kubelet's flags",
  ).action(keepExitCode((flags) => parts.doctor(flags, io)));
  addPapers(program, io, parts, keepExitCode);
  program
    .command("version")
    .description("print the version")
    .action(() => io.stdout(`${VERSION}\n`));
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    throw error;
  }
}

function addConfigCommands(program: Command, io: CommandIo, keepExitCode: KeepExitCode): void {
  const config = program.command("config").description("the configuration").enablePositionalOptions();
  passThrough(
    config.command("check"),
    "print the effective configuration, where each value came from, and what is wrong with it; takes the kubelet's flags",
  ).action(keepExitCode((flags) => configCheckCommand(flags, io)));
}

const ORPHANS_COMMANDS = [
  ["list", "name them"],
  ["explain", "say why one is an orphan and what would be done; takes its UID, then the kubelet's flags"],
  [
    "clean",
    "remove them, or those whose UIDs are given before the kubelet's flags; never across a mount that is not ours",
  ],
] as const;

function addOrphansCommands(
  program: Command,
  io: CommandIo,
  { openOrphans }: CommandParts,
  keepExitCode: KeepExitCode,
): void {
  const orphans = program
    .command("orphans")
    .description("folders and mounts on this node of pods that are over")
    .enablePositionalOptions();
  for (const [verb, description] of ORPHANS_COMMANDS) {
    passThrough(orphans.command(verb), description).action(
      keepExitCode((args) => orphansCommand(verb, args, io, openOrphans)),
    );
  }
}

function addExplainCommands(
  program: Command,
  io: CommandIo,
  { explainPorts }: CommandParts,
  keepExitCode: KeepExitCode,
): void {
  const explain = program.command("explain").description("why things are as they are").enablePositionalOptions();
  passThrough(
    explain.command("pod"),
    "say why a pod is in the state it is in, and how it came there; takes <namespace>/<name>, works without the agent",
  ).action(keepExitCode((args) => explainPodCommand(args, io, explainPorts)));
}

const PAPERS = [
  ["licences", "print the licences of everything that is inside"],
  ["sbom", "print the bill of materials: everything that is inside, as CycloneDX"],
] as const;

function addPapers(program: Command, io: CommandIo, { readPaper }: CommandParts, keepExitCode: KeepExitCode): void {
  for (const [paper, description] of PAPERS) {
    program
      .command(paper)
      .description(description)
      .action(keepExitCode(() => printPaper(paper, io, readPaper)));
  }
}

async function printPaper(paper: Paper, io: CommandIo, readPaper: ReadPaper): Promise<number> {
  try {
    io.stdout(await readPaper(paper));
    return 0;
  } catch (error) {
    io.stderr(`error: ${errorText(error)}\n`);
    return 1;
  }
}

/** The flags after it are the kubelet's, commander does not look at them. */
function passThrough(command: Command, description: string): Command {
  return command
    .description(description)
    .argument("[flags...]", "flags of the kubelet")
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .passThroughOptions();
}
