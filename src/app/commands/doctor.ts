/**
 * `deckhand doctor [-o json] [kubelet flags]`: what on this host would stop or hurt a node, each with what to do. It takes the agent's own flags,
 * reads them by the agent's own code, changes nothing, and can be run beside an agent.
 */
import { diagnose } from "../../domain/doctor/diagnose.ts";
import type { ConfigurationSeen } from "../../domain/doctor/facts.ts";
import { gather } from "../doctor/gather.ts";
import type { DoctorPorts } from "../doctor/looking.ts";
import { inFormat, takeOutput } from "../doctor/output.ts";
import type { CompiledOptions } from "../options/compiled-options.ts";
import { FileFault } from "../options/config-files.ts";
import { loadOptions, OptionsFault } from "../options/load-options.ts";
import { accessFault } from "../options/server-settings.ts";
import type { CommandIo } from "./io.ts";

/** Opens what doctor looks through; closed when it is done. */
export type OpenDoctor = (options: CompiledOptions) => Promise<{ readonly ports: DoctorPorts; close(): Promise<void> }>;

const USAGE = `usage: deckhand doctor [--output text|json] [kubelet flags]

Says what on this host would stop or hurt a node, and what to do about it. Give it the flags that the agent is started with.

  -o, --output text|json  (default text)

Ends with 0 when nothing was found but notes, with 1 when something hurts, with 2 when something stops a node, and with 3 when
it was asked wrongly.
`;

const WRONG_USE = 3;

export async function doctorCommand(args: readonly string[], io: CommandIo, open: OpenDoctor): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    io.stdout(USAGE);
    return 0;
  }
  const { output, flags } = takeOutput(args);
  if (output !== "text" && output !== "json") {
    io.stderr(`error: --output is text or json, not ${output}\n\n${USAGE}`);
    return WRONG_USE;
  }
  const { options, configuration } = configurationOf(flags, io);
  const opened = await open(options);
  try {
    const signal = new AbortController().signal;
    const facts = await gather({ ports: opened.ports, options, signal }, { uid: io.machine().uid, configuration });
    const { exitCode, stdout } = inFormat(diagnose(facts), output);
    io.stdout(stdout);
    return exitCode;
  } finally {
    await opened.close();
  }
}

/** Where the agent would refuse, the defaults stand in, so that what holds for any configuration is looked at all the same. */
function configurationOf(
  flags: readonly string[],
  io: CommandIo,
): { readonly options: CompiledOptions; readonly configuration: ConfigurationSeen } {
  try {
    const { options, lenient } = loaded(flags, io);
    const access = accessFault(options.server, options.api.kind === "cluster");
    return { options, configuration: { refused: undefined, lenient, warnings: options.warnings, access } };
  } catch (error) {
    if (!(error instanceof OptionsFault || error instanceof FileFault)) throw error;
    const lenient = error instanceof OptionsFault ? error.notices.strictFault : undefined;
    const { options } = loaded(["--fail-cgroupv1=false"], io);
    return { options, configuration: { refused: error.message, lenient, warnings: [], access: undefined } };
  }
}

function loaded(flags: readonly string[], io: CommandIo) {
  const result = loadOptions(flags, io.machine());
  if (result.kind !== "options") throw new FileFault("doctor takes no --version among the kubelet's flags");
  return { options: result.options, lenient: result.notices.strictFault };
}
