/**
 * `deckhand config check [kubelet flags]`: prints the configuration that the kubelet would run with, the origin of each
 * value, and warnings. Exits with 1 if the kubelet would not start.
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
import { isOutputFormat, OUTPUT, type OutputFormat, outputFault, takeOwnFlags } from "./own-flags.ts";

const USAGE = `Usage: deckhand config check [-o text|json] [kubelet flags]

Prints the configuration that the kubelet would run with, the origin of each value, warnings, and the
configured features that are not implemented.

  -o, --output text|json   output format (default text)

Exit codes: 0 ok, 1 the kubelet would not start, 2 usage error. \`deckhand kubelet --help\` lists the kubelet's flags.
`;

const USAGE_ERROR = 2;

export function configCheckCommand(args: readonly string[], io: CommandIo): number {
  if (args.includes("--help") || args.includes("-h")) {
    io.stdout(USAGE);
    return 0;
  }
  const { own, rest } = takeOwnFlags(args, OUTPUT);
  const output = own.get("output") ?? "text";
  if (!isOutputFormat(output)) {
    io.stderr(`error: ${outputFault(output)}\n\n${USAGE}`);
    return USAGE_ERROR;
  }
  try {
    const loaded = loadOptions(rest, io.machine());
    if (loaded.kind !== "options") {
      io.stderr(`error: config check takes no --version\n\n${USAGE}`);
      return USAGE_ERROR;
    }
    return report(loaded, output, io);
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
  output: OutputFormat,
  io: CommandIo,
): number {
  const fields = FIELD_PATHS.flatMap((path) => fieldRow(path, effective));
  const others = AGENT_FLAG_NAMES.flatMap((name) => flagRow(name, flags));
  const { strictFault, permissionFault } = notices;
  const { notImplemented } = options;
  const warnings = [
    ...(strictFault === undefined ? [] : [`read leniently: ${strictFault}`]),
    ...(permissionFault === undefined ? [] : [permissionFault]),
    ...options.warnings,
  ];
  if (output === "json") {
    io.stdout(`${JSON.stringify({ fields, flags: others, warnings, notImplemented }, undefined, 2)}\n`);
  } else {
    io.stdout(table("KubeletConfiguration, field by field", fields));
    io.stdout(table("flags that are not fields", others));
    for (const warning of warnings) io.stderr(`warning: ${warning}\n`);
    for (const feature of notImplemented) io.stderr(`note: not implemented: ${feature}\n`);
  }
  if (options.api.kind === "cluster")
    checkKubeconfig(options.api.kubeconfigPath, options.identity.bootstrapKubeconfigPath);
  return 0;
}

/** With bootstrap credentials, a kubeconfig that is missing or cannot be used is replaced. */
function checkKubeconfig(path: string, bootstrapPath: string): void {
  try {
    readKubeconfig(path);
  } catch (error) {
    if (bootstrapPath === "") throw error;
    readKubeconfig(bootstrapPath);
  }
}

interface Row {
  readonly name: string;
  readonly value: unknown;
  readonly origin: string;
}

function fieldRow(path: FieldPath, { config, origins }: EffectiveConfiguration): readonly Row[] {
  const value = config[path];
  if (value === undefined) return [];
  const from: readonly Origin[] = origins.get(path) ?? [];
  const shown = path === "staticPodURLHeader" ? "<masked>" : maskValue(encodeValue(value, path));
  return [{ name: path, value: shown, origin: from.map(describeOrigin).join(", ") || "default" }];
}

function flagRow(name: (typeof AGENT_FLAG_NAMES)[number], flags: ParsedFlags): readonly Row[] {
  const given = flags.agent.get(name);
  if (given === undefined && AGENT_FLAGS[name].support.kind === "accepted") return [];
  const shown = name === "storage-driver-password" ? "<masked>" : maskValue(given ?? AGENT_FLAGS[name].initial);
  return [{ name: `--${name}`, value: shown, origin: given === undefined ? "default" : "command line" }];
}

function table(title: string, rows: readonly Row[]): string {
  const names = Math.max(0, ...rows.map(({ name }) => name.length));
  const lines = rows.map(
    ({ name, value, origin }) => `${`${name}:`.padEnd(names + 1)} ${JSON.stringify(value)}  # ${origin}\n`,
  );
  return `# ${title}\n${lines.join("")}`;
}
