/**
 * Every flag with its value as text: the one from the command line, or the default. Configuration files have no
 * influence.
 */
import { formatGoDuration } from "../../base/duration.ts";
import { AGENT_FLAGS } from "./agent-flags.ts";
import { encodeValue } from "./decode-configuration.ts";
import { isObject } from "./decode-primitives.ts";
import { LEGACY } from "./defaults.ts";
import { fieldOf } from "./fields.ts";
import { FLAGS, type Flag } from "./flag-table.ts";
import type { ParsedFlags } from "./parse-flags.ts";

/** Flags that hold credentials. */
const CLASSIFIED: ReadonlySet<string> = new Set(["manifest-url-header"]);

export const flagTexts = (flags: ParsedFlags): Readonly<Record<string, string>> =>
  Object.fromEntries(
    FLAGS.map((flag) => {
      const text = flagText(flag, flags);
      return [flag.name, CLASSIFIED.has(flag.name) && text !== "" ? "CLASSIFIED" : text] as const;
    }),
  );

function flagText({ target }: Flag, flags: ParsedFlags): string {
  switch (target.kind) {
    case "help":
      return String(flags.help);
    case "version":
      return flags.version;
    case "agent": {
      const given = flags.agent.get(target.name);
      if (typeof given === "bigint") return formatGoDuration(given);
      return given === undefined ? AGENT_FLAGS[target.name].initial : written(given);
    }
    case "field": {
      const { path } = target;
      const value = flags.fields.has(path) ? flags.fields.get(path) : (LEGACY[path] ?? fieldOf(path).initial);
      if (value === undefined) return fieldOf(path).type === "strings" ? "[]" : "";
      return written(encodeValue(value, path));
    }
  }
}

function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
  if (!isObject(value)) return String(value);
  const entries = Object.entries(value).map(([key, item]) => `${key}=${written(item)}`);
  return entries.toSorted().join(",");
}
