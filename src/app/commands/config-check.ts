/**
 * `deckhand config check [kubelet flags]`: the configuration that the kubelet would run with, where each value came from, and what
 * to know about it. Exit code 1 when it would not start.
 */
import { maskValue } from "../logging/mask.ts";
import { AGENT_FLAG_NAMES, AGENT_FLAGS } from "../options/agent-flags.ts";
import { FileFault } from "../options/config-files.ts";
import { encodeValue } from "../options/decode-configuration.ts";
import type { EffectiveConfiguration, Origin } from "../options/effective-configuration.ts";
import { FIELD_PATHS, type FieldPath } from "../options/fields.ts";
import { readKubeconfig } from "../options/kubeconfig.ts";
import { type Loaded, loadOptions, OptionsFault } from "../options/load-options.ts";
import type { ParsedFlags } from "../options/parse-flags.ts";
import { describeOrigin } from "../options/warnings.ts";
import type { CommandIo } from "./io.ts";
import { kubeletUsage } from "./usage.ts";

export function configCheckCommand(args: readonly string[], io: CommandIo): number {
  try {
    const loaded = loadOptions(args, io.machine());
    if (loaded.kind !== "options") {
      io.stdout(kubeletUsage());
      return 0;
    }
    return report(loaded, io);
  } catch (error) {
    if (!(error instanceof OptionsFault || error instanceof FileFault)) throw error;
    const strict = error instanceof OptionsFault ? error.notices.strictFault : undefined;
    if (strict !== undefined) io.stderr(`warning: read leniently: ${strict}\n`);
    io.stderr(`error: ${error.message}\n`);
    return 1;
  }
}

function report(
  { options, effective, flags, notices }: Extract<Loaded, { readonly kind: "options" }>,
  io: CommandIo,
): number {
  io.stdout(
    table(
      "KubeletConfiguration, field by field",
      FIELD_PATHS.flatMap((path) => fieldRow(path, effective)),
    ),
  );
  io.stdout(
    table(
      "flags that are no fields",
      AGENT_FLAG_NAMES.flatMap((name) => flagRow(name, flags)),
    ),
  );
  const { strictFault, permissionFault } = notices;
  const warnings = [
    ...(strictFault === undefined ? [] : [`read leniently: ${strictFault}`]),
    ...(permissionFault === undefined ? [] : [permissionFault]),
    ...options.warnings,
  ];
  for (const warning of warnings) io.stderr(`warning: ${warning}\n`);
  if (options.api.kind === "cluster") readKubeconfig(options.api.kubeconfigPath);
  return 0;
}

type Row = readonly [name: string, value: string, origin: string];

function fieldRow(path: FieldPath, { config, origins }: EffectiveConfiguration): readonly Row[] {
  const value = config[path];
  if (value === undefined) return [];
  const from: readonly Origin[] = origins.get(path) ?? [];
  const shown = path === "staticPodURLHeader" ? "<masked>" : maskValue(encodeValue(value, path));
  return [[path, JSON.stringify(shown), from.map(describeOrigin).join(", ") || "default"]];
}

function flagRow(name: (typeof AGENT_FLAG_NAMES)[number], flags: ParsedFlags): readonly Row[] {
  const given = flags.agent.get(name);
  if (given === undefined && AGENT_FLAGS[name].support.kind === "accepted") return [];
  const shown = name === "storage-driver-password" ? "<masked>" : maskValue(given ?? AGENT_FLAGS[name].initial);
  return [[`--${name}`, JSON.stringify(shown), given === undefined ? "default" : "command line"]];
}

function table(title: string, rows: readonly Row[]): string {
  const names = Math.max(0, ...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value, origin]) => `${`${name}:`.padEnd(names + 1)} ${value}  # ${origin}\n`);
  return `# ${title}\n${lines.join("")}`;
}
