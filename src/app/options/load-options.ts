/**
 * Turns a command line into the settings that the agent runs on. Every command that takes the kubelet's flags uses this
 * function: `kubelet`, `config check`, `doctor` and `orphans`. It checks in the order of the Go kubelet, so that the
 * same mistake has the same message.
 */
import { AgentSettings, compile } from "./compile.ts";
import { CompileFault, DependencyFault } from "./compile-fault.ts";
import type { CompiledOptions } from "./compiled-options.ts";
import { FileFault } from "./config-files.ts";
import { type EffectiveConfiguration, effectiveConfiguration } from "./effective-configuration.ts";
import { GateFault, resolveGates } from "./feature-gates.ts";
import { flagTexts } from "./flag-texts.ts";
import type { MachineOfOptions } from "./machine-facts.ts";
import { nodeLabelFault } from "./names.ts";
import { FlagFault, type ParsedFlags, parseFlags } from "./parse-flags.ts";
import { unimplementedFeatures } from "./unimplemented.ts";
import { configurationFault } from "./validate.ts";
import { warningsOf } from "./warnings.ts";

/** Messages to report whether startup succeeds or not. */
export interface Notices {
  /** Messages about deprecated flags, in pflag's wording. */
  readonly deprecations: readonly string[];
  /** The error of the strict decoder of the file. */
  readonly strictFault: string | undefined;
  /** Set if the process is not root. Startup continues; privileged operations fail later. */
  readonly permissionFault: string | undefined;
}

/** Startup fails with this message and these notices. */
export class OptionsFault extends Error {
  override readonly name = "OptionsFault";
  readonly notices: Notices;
  constructor(message: string, notices: Notices, options?: ErrorOptions) {
    super(message, options);
    this.notices = notices;
  }
}

export type Loaded =
  | { readonly kind: "help" }
  | { readonly kind: "version"; readonly raw: boolean }
  | {
      readonly kind: "options";
      readonly options: CompiledOptions;
      readonly effective: EffectiveConfiguration;
      readonly flags: ParsedFlags;
      readonly notices: Notices;
    };

export function loadOptions(args: readonly string[], machine: MachineOfOptions): Loaded {
  const notices = {
    deprecations: [] as readonly string[],
    strictFault: undefined as string | undefined,
    permissionFault: permissionFault(machine),
  };
  try {
    return load(args, machine, notices);
  } catch (error) {
    const message = faultMessage(error);
    if (message === undefined) throw error;
    throw new OptionsFault(message, notices, { cause: error });
  }
}

const permissionFault = ({ uid }: MachineOfOptions) =>
  uid === 0 ? undefined : `kubelet needs to run as uid \`0\`. It is being run as ${uid}`;

/** Returns undefined for an error that the options did not cause. */
function faultMessage(error: unknown): string | undefined {
  if (error instanceof FlagFault) return `failed to parse kubelet flag: ${error.message}`;
  if (error instanceof DependencyFault) return `failed to construct kubelet dependencies: ${error.message}`;
  if (error instanceof CompileFault) return `failed to run Kubelet: ${error.message}`;
  if (error instanceof FileFault || error instanceof Refused) return error.message;
  return undefined;
}

/** An error whose message is already complete. */
class Refused extends Error {}

function load(
  args: readonly string[],
  machine: MachineOfOptions,
  notices: Notices & { deprecations: readonly string[]; strictFault: string | undefined },
): Loaded {
  const flags = parseFlags(args);
  notices.deprecations = flags.deprecations;
  const [stray] = flags.positional;
  if (stray !== undefined) throw new Refused(`unknown command ${stray}`);
  if (flags.help) return { kind: "help" };
  if (flags.version !== "false") return { kind: "version", raw: flags.version === "raw" };
  requireFlags(flags);
  const agent = new AgentSettings(flags.agent);
  const effective = effectiveConfiguration({
    flags,
    configPath: agent.text("config"),
    dropInDirectory: agent.text("config-dir"),
  });
  const { config, gates } = effective;
  notices.strictFault = effective.strictFault;
  const fault = configurationFault({ config, gates, cgroupVersion: machine.cgroupVersion });
  if (fault !== undefined) throw new Refused(fault);
  if (agent.value("exit-on-lock-contention", false) && agent.text("lock-file") === "") {
    throw new CompileFault("cannot exit on lock file contention: no lock file specified");
  }
  const compiled = compile({ config, gates, agent, machine, origins: effective.origins });
  const notImplemented = unimplementedFeatures(config, gates);
  const options = { ...compiled, flags: flagTexts(flags), warnings: warningsOf(effective, flags), notImplemented };
  return { kind: "options", options, effective, flags, notices };
}

/** Checks flags before any file is opened. */
function requireFlags(flags: ParsedFlags): void {
  try {
    resolveGates((flags.fields.get("featureGates") ?? {}) as Readonly<Record<string, boolean>>);
  } catch (error) {
    if (!(error instanceof GateFault)) throw error;
    throw new Refused(`failed to set feature gates from initial flags-based config: ${error.message}`, {
      cause: error,
    });
  }
  const fault = nodeLabelFault((flags.agent.get("node-labels") ?? {}) as Readonly<Record<string, string>>);
  if (fault !== undefined) throw new Refused(`failed to validate kubelet flags: ${fault}`);
}
