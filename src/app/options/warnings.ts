/** Warns about settings that have no effect or a surprising one: nothing is ignored silently. */
import { formatGoDuration } from "../../base/duration.ts";
import { AGENT_FLAG_NAMES, AGENT_FLAGS } from "./agent-flags.ts";
import { LEGACY } from "./defaults.ts";
import type { EffectiveConfiguration, Origin } from "./effective-configuration.ts";
import { gateWarnings } from "./feature-gates.ts";
import { type Configuration, FIELD_PATHS, type FieldPath, fieldOf } from "./fields.ts";
import type { ParsedFlags } from "./parse-flags.ts";
import type { Value } from "./value-types.ts";

export function warningsOf({ config, origins }: EffectiveConfiguration, flags: ParsedFlags): readonly string[] {
  return [
    ...fieldWarnings(config, origins),
    ...flagWarnings(flags),
    ...gateWarnings(config.featureGates ?? {}),
    ...nodeWarnings(config, flags),
  ];
}

export const describeOrigin = (origin: Origin): string => {
  switch (origin.kind) {
    case "default":
      return "default";
    case "file":
    case "dropIn":
      return origin.path;
    case "flag":
      return `--${origin.name}`;
  }
};

/** Warns only about values that were set, not about defaults, including those that apply without a file. */
function fieldWarnings(config: Configuration, origins: EffectiveConfiguration["origins"]): readonly string[] {
  return FIELD_PATHS.flatMap((path) => {
    const { support } = fieldOf(path);
    const from = origins.get(path) ?? [];
    if (from.length === 0 || isInitial(path, config[path])) return [];
    const where = `${path} (${from.map(describeOrigin).join(", ")})`;
    if (support.kind === "unimplemented")
      return [`${where} is set, but needs a feature that is not implemented: ${support.feature}`];
    if (support.kind === "accepted") return [`${where} is set without effect: ${support.why}`];
    return [];
  });
}

const isInitial = (path: FieldPath, value: Value | undefined) => same(value, fieldOf(path).initial);

function same(a: unknown, b: unknown): boolean {
  const text = (value: unknown) =>
    JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? `${item}n` : item));
  return text(a) === text(b);
}

const flagText = (value: Value): string =>
  typeof value === "bigint"
    ? formatGoDuration(value)
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);

function flagWarnings(flags: ParsedFlags): readonly string[] {
  return AGENT_FLAG_NAMES.flatMap((name) => {
    const { support, initial } = AGENT_FLAGS[name];
    const given = flags.agent.get(name);
    if (given === undefined || flagText(given) === initial) return [];
    if (support.kind === "unimplemented")
      return [`--${name} is set, but needs a feature that is not implemented: ${support.feature}`];
    if (support.kind === "accepted") return [`--${name} is set without effect: ${support.why}`];
    return [];
  });
}

function nodeWarnings(config: Configuration, flags: ParsedFlags): readonly string[] {
  const { kubeletCgroups, kubeReservedCgroup } = config;
  const open = LEGACY["authorization.mode"] === config["authorization.mode"] && !flags.agent.has("config");
  return [
    ...(kubeletCgroups !== "" && kubeReservedCgroup !== "" && !kubeletCgroups.startsWith(kubeReservedCgroup)
      ? ["unsupported configuration:KubeletCgroups is not within KubeReservedCgroup"]
      : []),
    ...(open ? ["without --config the defaults are the old, open ones: anonymous requests and AlwaysAllow"] : []),
  ];
}
