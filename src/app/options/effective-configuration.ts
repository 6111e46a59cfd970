/**
 * Merges defaults < --config < --config-dir < flags, and records the origin of each value. Feature gates are merged key
 * by key.
 */
import { type DropIn, FileFault, loadConfigFile, loadDropIns } from "./config-files.ts";
import { decodeConfiguration, encodeConfiguration } from "./decode-configuration.ts";
import { DecodeFault, isObject } from "./decode-primitives.ts";
import { isUnset, LEGACY, withDefaults, withEvictionDefaults } from "./defaults.ts";
import { type FeatureGates, GateFault, resolveGates } from "./feature-gates.ts";
import { type Configuration, FIELD_PATHS, type FieldPath, fieldOf } from "./fields.ts";
import type { ParsedFlags } from "./parse-flags.ts";
import type { Value } from "./value-types.ts";

export type Origin =
  | { readonly kind: "default" }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "dropIn"; readonly path: string }
  | { readonly kind: "flag"; readonly name: string };

/** In the order in which they were applied; several if values were merged. */
type Origins = ReadonlyMap<FieldPath, readonly Origin[]>;

export interface EffectiveConfiguration {
  readonly config: Configuration;
  readonly gates: FeatureGates;
  readonly origins: Origins;
  /** The error of the strict decoder of the file. */
  readonly strictFault: string | undefined;
  readonly skippedDropIns: readonly string[];
}

export interface Sources {
  readonly flags: ParsedFlags;
  readonly configPath: string;
  readonly dropInDirectory: string;
}

export function effectiveConfiguration({ flags, configPath, dropInDirectory }: Sources): EffectiveConfiguration {
  const origins = new Map<FieldPath, readonly Origin[]>();
  const flagGates = (flags.fields.get("featureGates") ?? {}) as Readonly<Record<string, boolean>>;
  const base = configPath === "" ? withoutFile(flagGates) : fromFile(configPath, flagGates, origins);
  const { dropIns, skipped } = dropInDirectory === "" ? { dropIns: [], skipped: [] } : loadDropIns(dropInDirectory);
  const dropped = dropInDirectory === "" ? base.config : withDropIns(base.config, dropIns, flagGates, origins);
  const config = withFlags(dropped, flags, origins);
  const gates = gatesOf({ ...config.featureGates });
  return { config, gates, origins, strictFault: base.strictFault, skippedDropIns: skipped };
}

interface Base {
  readonly config: Configuration;
  readonly strictFault: string | undefined;
}

const withoutFile = (flagGates: Readonly<Record<string, boolean>>): Base => ({
  config: { ...withDefaults({}, gatesOf(flagGates)), ...LEGACY },
  strictFault: undefined,
});

function fromFile(
  path: string,
  flagGates: Readonly<Record<string, boolean>>,
  origins: Map<FieldPath, readonly Origin[]>,
): Base {
  const { written, strictFault } = prefixed(`failed to load kubelet config file, path: ${path}, error: `, () =>
    loadConfigFile(path),
  );
  const gates = gatesOf({ ...flagGates, ...written.featureGates });
  for (const field of FIELD_PATHS) {
    if (!isUnset(field, written[field])) origins.set(field, [{ kind: "file", path }]);
  }
  return { config: withEvictionDefaults(withDefaults(written, gates)), strictFault };
}

/**
 * Applies the patches to the form that Go writes, which omits empty lists and maps: one that the file emptied on
 * purpose gets its default again.
 */
function withDropIns(
  base: Configuration,
  dropIns: readonly DropIn[],
  flagGates: Readonly<Record<string, boolean>>,
  origins: Map<FieldPath, readonly Origin[]>,
): Configuration {
  let document: unknown = encodeConfiguration(base);
  for (const dropIn of dropIns) {
    document = mergePatch(document, dropIn.document);
    for (const path of FIELD_PATHS) {
      const touched = valueAt(dropIn.document, path);
      if (touched === undefined) continue;
      const origin: Origin = { kind: "dropIn", path: dropIn.path };
      const merged = isObject(touched) && isObject(base[path]);
      origins.set(path, touched === null ? [] : merged ? [...(origins.get(path) ?? []), origin] : [origin]);
    }
  }
  try {
    const { written } = decodeConfiguration(document as Readonly<Record<string, unknown>>);
    return withDefaults(written, gatesOf({ ...flagGates, ...written.featureGates }));
  } catch (error) {
    if (!(error instanceof DecodeFault)) throw error;
    throw new FileFault(
      `failed to merge kubelet configs: failed to unmarshal merged JSON into kubelet configuration: ${error.message}`,
      { cause: error },
    );
  }
}

function valueAt(document: Readonly<Record<string, unknown>>, path: string): unknown {
  let value: unknown = document;
  for (const step of path.split(".")) value = isObject(value) ? value[step] : undefined;
  return value;
}

function withFlags(
  config: Configuration,
  flags: ParsedFlags,
  origins: Map<FieldPath, readonly Origin[]>,
): Configuration {
  const values = new Map<FieldPath, Value | undefined>();
  for (const [path, value] of flags.fields) {
    const origin: Origin = { kind: "flag", name: fieldOf(path).flag ?? path };
    const merged = combined(path, config, value);
    // As a flag, seccompDefault can only be enabled, not disabled.
    if (path === "seccompDefault" && value === false) continue;
    values.set(path, merged);
    const keeps = path === "featureGates" || path === "logging.vmodule";
    origins.set(path, keeps ? [...(origins.get(path) ?? []), origin] : [origin]);
  }
  return { ...config, ...Object.fromEntries(values) };
}

function combined(path: FieldPath, config: Configuration, value: Value | undefined): Value | undefined {
  if (path === "featureGates") return { ...config.featureGates, ...(value as Readonly<Record<string, boolean>>) };
  if (path === "logging.vmodule") return [...(config["logging.vmodule"] ?? []), ...(value as readonly never[])];
  return value;
}

function gatesOf(wanted: Readonly<Record<string, boolean>>): FeatureGates {
  return prefixed("failed to set feature gates from initial flags-based config: ", () => resolveGates(wanted));
}

function prefixed<T>(prefix: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof FileFault || error instanceof GateFault)
      throw new FileFault(prefix + error.message, { cause: error });
    throw error;
  }
}

/** RFC 7386: objects are merged, everything else replaces, null removes. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}
