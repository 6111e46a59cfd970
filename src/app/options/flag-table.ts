/** Every flag of the kubelet, from the two tables: the syntax of its text, and what it sets. */
import { AGENT_FLAG_NAMES, AGENT_FLAGS, type AgentFlag, type AgentFlagName } from "./agent-flags.ts";
import { FIELD_PATHS, type FieldPath, fieldOf } from "./fields.ts";
import type { TypeName } from "./value-types.ts";

/** How the text of a flag is parsed. */
export type FlagSyntax =
  | "bool"
  | "int32"
  | "int64"
  | "level"
  | "string"
  | "ip"
  | "duration"
  | "quantity"
  | "list"
  | "map"
  | "pair"
  | "thresholds"
  | "gates"
  | "headers"
  | "taints"
  | "reservedMemory"
  | "modules"
  | "labels"
  | "version"
  | "help";

export interface Flag {
  readonly name: string;
  readonly shorthand: string | undefined;
  readonly syntax: FlagSyntax;
  readonly deprecated: string | undefined;
  readonly target:
    | { readonly kind: "field"; readonly path: FieldPath }
    | { readonly kind: "agent"; readonly name: AgentFlagName }
    | { readonly kind: "help" }
    | { readonly kind: "version" };
}

const USE_THE_FILE =
  "This parameter should be set via the config file specified by the Kubelet's --config flag. See https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/ for more information.";

/** Every other flag of a field is deprecated in favor of the file. */
const LASTING = new Set(["v", "vmodule", "log-flush-frequency", "provider-id", "fail-cgroupv1", "seccomp-default"]);

const SYNTAX_OF_TYPE: Readonly<Partial<Record<TypeName, FlagSyntax>>> = {
  bool: "bool",
  int32: "int32",
  uint32: "level",
  int64: "int64",
  string: "string",
  duration: "duration",
  durationOrNs: "duration",
  quantity: "quantity",
  strings: "list",
  stringMap: "map",
  boolMap: "gates",
  stringListMap: "headers",
  taints: "taints",
  memoryReservations: "reservedMemory",
  moduleVerbosities: "modules",
};

const SYNTAX_OF_FLAG: Readonly<Record<string, FlagSyntax>> = {
  address: "ip",
  "healthz-bind-address": "ip",
  "eviction-hard": "thresholds",
  "eviction-soft": "thresholds",
  "cpu-manager-policy-options": "pair",
};

const SYNTAX_OF_AGENT_TYPE: Readonly<Record<AgentFlag["type"], FlagSyntax>> = {
  string: "string",
  bool: "bool",
  int32: "int32",
  int: "int64",
  duration: "duration",
  labels: "labels",
  strings: "list",
};

const fieldFlags = FIELD_PATHS.flatMap((path): readonly Flag[] => {
  const { flag: name, type } = fieldOf(path);
  if (name === undefined) return [];
  const syntax = SYNTAX_OF_FLAG[name] ?? SYNTAX_OF_TYPE[type] ?? "string";
  const deprecated = LASTING.has(name) ? undefined : USE_THE_FILE;
  return [{ name, shorthand: name === "v" ? "v" : undefined, syntax, deprecated, target: { kind: "field", path } }];
});

const agentFlags = AGENT_FLAG_NAMES.map((name): Flag => {
  const { type, deprecated } = AGENT_FLAGS[name];
  return {
    name,
    shorthand: undefined,
    syntax: SYNTAX_OF_AGENT_TYPE[type],
    deprecated,
    target: { kind: "agent", name },
  };
});

const help: Flag = { name: "help", shorthand: "h", syntax: "help", deprecated: undefined, target: { kind: "help" } };
const version: Flag = {
  name: "version",
  shorthand: undefined,
  syntax: "version",
  deprecated: undefined,
  target: { kind: "version" },
};

export const FLAGS: readonly Flag[] = [...fieldFlags, ...agentFlags, help, version].toSorted((a, b) =>
  a.name < b.name ? -1 : 1,
);
