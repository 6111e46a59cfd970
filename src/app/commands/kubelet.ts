/** The kubelet's command line: the same flags, output and exit codes as the Go kubelet. */
import type { Log } from "../../ports/log.ts";
import { type Loaded, loadOptions, type Notices, OptionsFault } from "../options/load-options.ts";
import { ARCHITECTURE, KUBERNETES_VERSION } from "../version.ts";
import { type CommandIo, firstLog, processLog, type StartKubelet } from "./io.ts";
import { kubeletUsage } from "./usage.ts";

export async function kubeletCommand(args: readonly string[], io: CommandIo, start: StartKubelet): Promise<number> {
  const loaded = loadOrSay(args, io);
  if (loaded === undefined) return 1;
  switch (loaded.kind) {
    case "help":
      io.stdout(kubeletUsage());
      return 0;
    case "version":
      io.stdout(loaded.raw ? rawVersion() : `Kubernetes ${KUBERNETES_VERSION}\n`);
      return 0;
    case "options":
      return run(loaded, io, start);
  }
}

function loadOrSay(args: readonly string[], io: CommandIo): Loaded | undefined {
  try {
    return loadOptions(args, io.machine());
  } catch (error) {
    if (!(error instanceof OptionsFault)) throw error;
    const log = firstLog(io);
    say(error.notices, io, log);
    log.error("command failed", new Error(error.message));
    return undefined;
  }
}

function say({ deprecations, strictFault }: Notices, io: CommandIo, log: Log): void {
  for (const line of deprecations) io.stderr(`${line}\n`);
  if (strictFault !== undefined) {
    log.info(0, "Using lenient decoding as strict decoding failed", { err: strictFault });
  }
}

async function run(
  { options, effective, notices }: Extract<Loaded, { readonly kind: "options" }>,
  io: CommandIo,
  start: StartKubelet,
): Promise<number> {
  const processWide = processLog(options, io);
  const log = processWide.of("options");
  say(notices, io, log);
  if (notices.permissionFault !== undefined) {
    log.error("Kubelet running with insufficient permissions", new Error(notices.permissionFault));
  }
  for (const warning of options.warnings) log.info(0, warning);
  for (const feature of options.notImplemented) log.info(0, "A configured feature is not implemented", { feature });
  for (const file of effective.skippedDropIns) {
    log.info(4, "Skipped file in drop-in directory (does not have .conf extension)", { file });
  }
  log.info(0, "Kubelet version", { kubeletVersion: KUBERNETES_VERSION });
  try {
    return await start(options, processWide);
  } finally {
    processWide.flush();
  }
}

const rawVersion = () =>
  `version.Info{Major:"1", Minor:"36", GitVersion:"${KUBERNETES_VERSION}", Platform:"linux/${ARCHITECTURE}"}\n`;
