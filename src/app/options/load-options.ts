/**
 * From the command line to what the agent runs on. One way in for `kubelet`, `deckhand kubelet` and `deckhand config check`, in
 * the order of the Go kubelet, so that the same mistake has the same message.
 */
import { AgentSettings, CompileFault, compile } from "./compile.ts";
import type { CompiledOptions } from "./compiled-options.ts";
import { FileFault } from "./config-files.ts";
import { type EffectiveConfiguration, effectiveConfiguration } from "./effective-configuration.ts";
import { GateFault, resolveGates } from "./feature-gates.ts";
import type { MachineOfOptions } from "./machine-facts.ts";
import { nodeLabelFault } from "./names.ts";
import { FlagFault, type ParsedFlags, parseFlags } from "./parse-flags.ts";
import { configurationFault } from "./validate.ts";
import { warningsOf } from "./warnings.ts";

/** The start fails, with this to say. */
export class OptionsFault extends Error {
  override readonly name = "OptionsFault";
}

export type Loaded =
  | { readonly kind: "help" }
  | { readonly kind: "version"; readonly raw: boolean }
  | {
      readonly kind: "options";
      readonly options: CompiledOptions;
      readonly effective: EffectiveConfiguration;
      readonly flags: ParsedFlags;
    };

export function loadOptions(args: readonly string[], machine: MachineOfOptions): Loaded {
  try {
    return load(args, machine);
  } catch (error) {
    if (error instanceof FlagFault)
      throw new OptionsFault(`failed to parse kubelet flag: ${error.message}`, { cause: error });
    if (error instanceof CompileFault)
      throw new OptionsFault(`failed to run Kubelet: ${error.message}`, { cause: error });
    if (error instanceof FileFault) throw new OptionsFault(error.message, { cause: error });
    throw error;
  }
}

function load(args: readonly string[], machine: MachineOfOptions): Loaded {
  const flags = parseFlags(args);
  const [stray] = flags.positional;
  if (stray !== undefined) throw new OptionsFault(`unknown command ${stray}`);
  if (flags.help) return { kind: "help" };
  if (flags.version !== "false") return { kind: "version", raw: flags.version === "raw" };
  requireFlags(flags);
  const agent = new AgentSettings(flags.agent);
  const effective = effectiveConfiguration({
    flags,
    configPath: agent.text("config"),
    dropInFolder: agent.text("config-dir"),
  });
  const { config, gates } = effective;
  const fault = configurationFault({ config, gates, cgroupVersion: machine.cgroupVersion });
  if (fault !== undefined) throw new OptionsFault(fault);
  if (agent.value("exit-on-lock-contention", false) && agent.text("lock-file") === "") {
    throw new CompileFault("cannot exit on lock file contention: no lock file specified");
  }
  const compiled = compile({ config, gates, agent, machine });
  const options = { ...compiled, warnings: warningsOf(effective, flags, machine) };
  return { kind: "options", options, effective, flags };
}

/** Before any file is opened. */
function requireFlags(flags: ParsedFlags): void {
  try {
    resolveGates((flags.fields.get("featureGates") ?? {}) as Readonly<Record<string, boolean>>);
  } catch (error) {
    if (!(error instanceof GateFault)) throw error;
    throw new OptionsFault(`failed to set feature gates from initial flags-based config: ${error.message}`, {
      cause: error,
    });
  }
  const fault = nodeLabelFault((flags.agent.get("node-labels") ?? {}) as Readonly<Record<string, string>>);
  if (fault !== undefined) throw new OptionsFault(`failed to validate kubelet flags: ${fault}`);
}
