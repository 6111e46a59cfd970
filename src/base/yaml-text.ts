/**
 * YAML as the Go tools read it: of several documents the first, YAML 1.1 scalars (0644 is octal, yes is true) but no dates and no numbers
 * to the base of sixty, the last of two equal keys, and no more aliases than a manifest needs.
 */
import { parseAllDocuments, type ScalarTag, type Tags } from "yaml";

const ALIASES_MAX = 100;
/** These have no place in JSON; a text that looks like one stays a text. */
const foreign = ["timestamp", "binary", "set", "omap", "pairs"];

export type ParsedYaml =
  | { readonly kind: "ok"; readonly value: unknown }
  | { readonly kind: "malformed"; readonly detail: string };

/** May throw where the library does: on aliases without end. */
export function parseYaml(text: string): ParsedYaml {
  const documents = parseAllDocuments(text, {
    version: "1.1",
    merge: true,
    uniqueKeys: false,
    logLevel: "silent",
    customTags: plainTags,
  });
  const first = Array.isArray(documents) ? documents[0] : undefined;
  if (first === undefined) return { kind: "malformed", detail: "there is no document" };
  const [trouble] = first.errors;
  if (trouble !== undefined) return { kind: "malformed", detail: trouble.message };
  return { kind: "ok", value: first.toJS({ maxAliasCount: ALIASES_MAX }) as unknown };
}

const plainTags = (tags: Tags): Tags => [
  newOctal,
  ...tags.filter((tag) => {
    if (typeof tag === "string") return !foreign.includes(tag);
    const name = tag.tag.split(":").at(-1) ?? "";
    return !foreign.includes(name) && !("format" in tag && tag.format === "TIME");
  }),
];

/** 0o644, which YAML 1.1 does not know and Go reads all the same. */
const newOctal: ScalarTag = {
  tag: "tag:yaml.org,2002:int",
  default: true,
  test: /^[-+]?0[oO][0-7_]+$/,
  resolve: (text) => {
    const sign = text.startsWith("-") ? -1 : 1;
    return sign * Number.parseInt(text.replace(/^[-+]?0[oO]/, "").replaceAll("_", ""), 8);
  },
};
