/**
 * References to variables in a text: `$(NAME)` stands for the variable's value, `$$` for a dollar. A variable that does not exist and whatever
 * else a dollar begins stay as they are written. What a value holds is never looked through again.
 */
import { concatBytes } from "../../../base/bytes.ts";
import { utf8Bytes, utf8Text } from "../../../base/utf8.ts";
import type { EnvironmentVariable } from "../../runtime/container.ts";

const REFERENCE = /\$(?:\$|\((?<name>[^)]*)\)|\()/g;

/** Bytes, because the value of a Secret may be no text. */
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

/** For a text in which every variable must have a value: those that have none are named. */
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
