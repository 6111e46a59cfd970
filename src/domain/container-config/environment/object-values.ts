/** The values of a ConfigMap or a Secret, by key. Users choose the keys: `__proto__` is a key like any other. */
import type { ConfigMap, Secret } from "../../../api/gen/core-v1.ts";
import { base64Bytes } from "../../../base/base64.ts";
import { utf8Bytes } from "../../../base/utf8.ts";

export type ValueOf = (key: string) => Uint8Array | undefined;

export interface ObjectValues {
  /** Sorted. */
  readonly keys: readonly string[];
  readonly valueOf: ValueOf;
}

/** Only `data`: values in `binaryData` are available to files only. */
export const configMapValues = ({ data }: ConfigMap): ObjectValues => valuesOf(data ?? {}, utf8Bytes);

/** A value that is not valid base64 never comes from an API server; it counts as missing. */
export const secretValues = ({ data }: Secret): ObjectValues => valuesOf(data ?? {}, base64Bytes);

/** Decodes on access: an object may be large when only one of its keys is needed. */
const valuesOf = (
  data: Readonly<Record<string, string>>,
  decode: (text: string) => Uint8Array | undefined,
): ObjectValues => ({
  keys: Object.keys(data).sort(),
  valueOf: (key) => (Object.hasOwn(data, key) ? decode(data[key] ?? "") : undefined),
});
