/** What a ConfigMap or Secret holds, by key. Keys are the user's: `__proto__` is one like any other. */
import type { ConfigMap, Secret } from "../../../api/gen/core-v1.ts";
import { base64Bytes } from "../../../base/base64.ts";
import { utf8Bytes } from "../../../base/utf8.ts";

export type ValueOf = (key: string) => Uint8Array | undefined;

export interface ObjectValues {
  /** Sorted. */
  readonly keys: readonly string[];
  readonly valueOf: ValueOf;
}

/** Its texts only: what it holds as bytes is for files. */
export const configMapValues = ({ data }: ConfigMap): ObjectValues => valuesOf(data ?? {}, utf8Bytes);

/** A value that is no base64 never comes from an API server; it counts as not there. */
export const secretValues = ({ data }: Secret): ObjectValues => valuesOf(data ?? {}, base64Bytes);

/** Decoded when asked for: an object may be large, and one key of it wanted. */
const valuesOf = (
  data: Readonly<Record<string, string>>,
  decode: (text: string) => Uint8Array | undefined,
): ObjectValues => ({
  keys: Object.keys(data).sort(),
  valueOf: (key) => (Object.hasOwn(data, key) ? decode(data[key] ?? "") : undefined),
});
