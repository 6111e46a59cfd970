/**
 * ConfigMaps and Secrets whose values name their origin: the object, its version, the number of keys of that version,
 * and their own key. A reader of such values from a volume or an environment sees from them alone whether they belong
 * together and whether one is missing.
 */
import type { ConfigMap, Secret } from "../../src/api/gen/core-v1.ts";

export type ObjectKind = "ConfigMap" | "Secret";

export interface Reported {
  readonly kind: ObjectKind;
  readonly name: string;
  readonly version: number;
  /** How many keys this version has. */
  readonly keys: number;
  readonly key: string;
}

export interface SelfDescribingObject {
  readonly kind: ObjectKind;
  readonly name: string;
  readonly version: number;
  readonly keys: readonly string[];
}

const NAMESPACE = "default";
const TEXT =
  /^(?<kind>ConfigMap|Secret) (?<name>[a-z0-9.-]+) version (?<version>\d+) key (?<key>\S+) of (?<keys>\d+)\n$/;

const textOf = ({ kind, name, version, keys }: SelfDescribingObject, key: string): string =>
  `${kind} ${name} version ${version} key ${key} of ${keys.length}\n`;

/** Parses a value; undefined for a text that was not made here or is incomplete. */
export function reportedBy(text: string): Reported | undefined {
  const { kind, name = "", version, key = "", keys } = TEXT.exec(text)?.groups ?? {};
  if (kind !== "ConfigMap" && kind !== "Secret") return undefined;
  return { kind, name, version: Number(version), keys: Number(keys), key };
}

/** A record in which every key is an own property, whatever its name, such as `__proto__`. */
const recordOf = (entries: readonly (readonly [string, string])[]): Record<string, string> => {
  const record = Object.create(null) as Record<string, string>;
  for (const [key, value] of entries) record[key] = value;
  return record;
};

export function apiObject(object: SelfDescribingObject): ConfigMap | Secret {
  const isSecret = object.kind === "Secret";
  const valueOf = (key: string) =>
    isSecret ? Buffer.from(textOf(object, key)).toString("base64") : textOf(object, key);
  return {
    apiVersion: "v1",
    kind: object.kind,
    metadata: { name: object.name, namespace: NAMESPACE },
    data: recordOf(object.keys.map((key) => [key, valueOf(key)])),
    ...(isSecret ? { type: "Opaque" } : {}),
  };
}
