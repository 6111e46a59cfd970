/** Which plugins a network configuration needs, from a file in the runtime's CNI directory. */
import type { NetworkConfiguration } from "./facts.ts";

/** The file that a runtime uses: the first by name. Undefined: none of these is a configuration. */
export const configurationName = (names: readonly string[]): string | undefined =>
  names.filter((name) => /\.(?:conf|conflist|json)$/.test(name)).toSorted()[0];

type Entry = Readonly<Record<string, unknown>>;

export function networkConfiguration(file: string, text: string): NetworkConfiguration {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { file, plugins: { fault: "it is no JSON" } };
  }
  const root = entryOf(value);
  const isList = file.endsWith(".conflist");
  const listed = isList ? root["plugins"] : [root];
  if (!Array.isArray(listed) || listed.length === 0) return { file, plugins: { fault: "it names no plug-ins" } };
  const types: string[] = [];
  for (const entry of listed.map(entryOf)) {
    const { type } = entry;
    if (typeof type !== "string" || type === "") return { file, plugins: { fault: "a plug-in has no type" } };
    const ipam = entryOf(entry["ipam"])["type"];
    types.push(type, ...(typeof ipam === "string" && ipam !== "" ? [ipam] : []));
  }
  const { name } = root;
  if (typeof name !== "string" || name === "") return { file, plugins: { fault: "it has no name" } };
  return { file, plugins: [...new Set(types)] };
}

const entryOf = (value: unknown): Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Entry) : {};
