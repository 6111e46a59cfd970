/**
 * `deckhand doctor [-o json] [--fail-on warning] [kubelet flags]`: reports what on this host would stop or impair a node, each with a
 * remedy. It takes the agent's flags and parses them with the agent's code. It changes nothing and can run beside an
 * agent.
 */
import { diagnose } from "../../domain/doctor/diagnose.ts";
import type { ConfigurationSeen } from "../../domain/doctor/facts.ts";
import { gather } from "../doctor/gather.ts";
import { inFormat, takeDoctorFlags } from "../doctor/output.ts";
import type { DoctorPorts } from "../doctor/probe-host.ts";
import type { CompiledOptions } from "../options/compiled-options.ts";
import { FileFault } from "../options/config-files.ts";
import { loadOptions, OptionsFault } from "../options/load-options.ts";
import { accessFault } from "../options/server-settings.ts";
import type { CommandIo } from "./io.ts";

/** Opens the ports that doctor uses. The command closes them when it ends. */
export type OpenDoctor = (options: CompiledOptions) => Promise<{ readonly ports: DoctorPorts; close(): Promise<void> }>;

const USAGE = `Usage: deckhand doctor [--output text|json] [--fail-on error|warning] [kubelet flags]

Checks whether this host can run a node, and says what to do about each problem. Pass the flags that the agent is started with.

  -o, --output text|json      output format (default text)
  --fail-on error|warning     least severity that makes the command fail (default error)

Severities: an error keeps the agent or all pods from starting, a warning makes something fail later, a note needs no action.
Exit codes: 0 no problem of that severity, 1 problems found, 2 usage error. NO_COLOR turns colors off.
`;

const USAGE_ERROR = 2;

export async function doctorCommand(args: readonly string[], io: CommandIo, open: OpenDoctor): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    io.stdout(USAGE);
    return 0;
  }
  const flags = takeDoctorFlags(args);
  if (flags.kind === "wrong") {
    io.stderr(`error: ${flags.why}\n\n${USAGE}`);
    return USAGE_ERROR;
  }
  const { options, configuration } = configurationOf(flags.kubelet, io);
  const opened = await open(options);
  try {
    const signal = new AbortController().signal;
    const facts = await gather({ ports: opened.ports, options, signal }, { uid: io.machine().uid, configuration });
    const { exitCode, stdout } = inFormat(diagnose(facts), flags.own, io.isColored);
    io.stdout(stdout);
    return exitCode;
  } finally {
    await opened.close();
  }
}

const NOTHING = { warnings: [], notImplemented: [] } as const;

/**
 * If the agent would refuse the configuration, uses the defaults, so that checks that hold for any configuration still
 * run.
 */
function configurationOf(
  flags: readonly string[],
  io: CommandIo,
): { readonly options: CompiledOptions; readonly configuration: ConfigurationSeen } {
  try {
    const { options, lenient } = loaded(flags, io);
    const access = accessFault(options.server, options.api.kind === "cluster");
    const { warnings, notImplemented } = options;
    return { options, configuration: { refused: undefined, lenient, warnings, notImplemented, access } };
  } catch (error) {
    if (!(error instanceof OptionsFault || error instanceof FileFault)) throw error;
    const lenient = error instanceof OptionsFault ? error.notices.strictFault : undefined;
    const { options } = loaded(["--fail-cgroupv1=false"], io);
    return { options, configuration: { refused: error.message, lenient, ...NOTHING, access: undefined } };
  }
}

function loaded(flags: readonly string[], io: CommandIo) {
  const result = loadOptions(flags, io.machine());
  if (result.kind !== "options") throw new FileFault("doctor takes no --version among the kubelet's flags");
  return { options: result.options, lenient: result.notices.strictFault };
}
