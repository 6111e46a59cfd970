/**
 * Expands variable references in a text: `$(NAME)` becomes the variable's value, `$$` a dollar sign. References to
 * unknown variables and any other text after a dollar sign stay as written. Values are not expanded again.
 */
import { concatBytes } from "../../../base/bytes.ts";
import { utf8Bytes, utf8Text } from "../../../base/utf8.ts";
import type { EnvironmentVariable } from "../../runtime/container.ts";

const REFERENCE = /\$(?:\$|\((?<name>[^)]*)\)|\()/g;

/** Returns bytes, because the value of a Secret may not be valid UTF-8. */
export function expand(text: string, valueOf: (name: string) => Uint8Array | undefined): Uint8Array {
  const parts: Uint8Array[] = [];
  let done = 0;
  for (const match of text.matchAll(REFERENCE)) {
    const [written] = match;
    const name = match.groups?.["name"];
    const value = name === undefined ? undefined : valueOf(name);
    parts.push(utf8Bytes(text.slice(done, match.index)), value ?? utf8Bytes(written === "$$" ? "$" : written));
    done = match.index + written.length;
  }
  return concatBytes([...parts, utf8Bytes(text.slice(done))]);
}

/** Expands a text in which every variable must have a value; `missing` names those that have none. */
export function expandFully(
  text: string,
  environment: readonly EnvironmentVariable[],
): { readonly text: string; readonly missing: readonly string[] } {
  const values = new Map(environment.map(({ name, value }) => [name, value]));
  const missing = new Set<string>();
  const expanded = expand(text, (name) => {
    const value = values.get(name) ?? new Uint8Array();
    if (value.length === 0) missing.add(name);
    return value;
  });
  return { text: utf8Text(expanded) ?? "", missing: [...missing] };
}
