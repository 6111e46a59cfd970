/**
 * Reads YAML as Go tools do. Only the first document counts, and the last of two equal keys wins. Scalars follow YAML
 * 1.1 (0644 is octal, yes is true), without dates and base-60 numbers. Depth and aliases are bounded; the caller bounds
 * the length of the text.
 */

import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  parseAllDocuments,
  type ScalarTag,
  stringify,
  type Tags,
  visit,
} from "yaml";
import { errorText } from "./error-text.ts";

const ALIASES_MAX = 100;
const DEPTH_MAX = 64;
/** These types do not exist in JSON; text that looks like one stays text. */
const foreign = ["timestamp", "binary", "set", "omap", "pairs"];

export type ParsedYaml =
  | {
      readonly kind: "ok";
      /** Null if there is no document. */
      readonly value: unknown;
      /** In go-yaml's words: each key that a map contains twice. */
      readonly duplicateKeys: readonly string[];
    }
  | { readonly kind: "malformed"; readonly detail: string };

export interface YamlOptions {
  /** Parses integers as bigints, for callers that distinguish 1 from 1.0 or need every digit. */
  readonly intAsBigInt?: boolean;
}

export function parseYaml(text: string, { intAsBigInt = false }: YamlOptions = {}): ParsedYaml {
  try {
    const documents = parseAllDocuments(text, {
      version: "1.1",
      merge: true,
      uniqueKeys: false,
      logLevel: "silent",
      prettyErrors: false,
      customTags: plainTags,
      intAsBigInt,
    });
    const first = Array.isArray(documents) ? documents[0] : undefined;
    if (first === undefined) return { kind: "ok", value: null, duplicateKeys: [] };
    // The parser itself stops before it exhausts its stack.
    if (first.errors.some(({ code }) => code === "RESOURCE_EXHAUSTION") || isTooDeep(first)) return tooDeep;
    const [trouble] = first.errors;
    if (trouble !== undefined) return malformed(`line ${lineOf(text, trouble.pos[0])}: ${trouble.message}`);
    const value: unknown = first.toJS({ maxAliasCount: ALIASES_MAX });
    return { kind: "ok", value, duplicateKeys: duplicateKeys(first, text) };
  } catch (error) {
    return malformed(errorText(error));
  }
}

/** Sorts map keys, and quotes text that YAML 1.1 would read as another type. */
export const writeYaml = (value: unknown): string => stringify(value, { version: "1.1", sortMapEntries: true });

const malformed = (detail: string): ParsedYaml => ({ kind: "malformed", detail: `yaml: ${detail}` });
const tooDeep = malformed(`nested deeper than ${DEPTH_MAX}`);

function isTooDeep(document: Document.Parsed): boolean {
  let found = false;
  visit(document, (_key, _node, path) => {
    found = path.filter(isCollection).length > DEPTH_MAX;
    return found ? visit.BREAK : undefined;
  });
  return found;
}

function duplicateKeys(document: Document.Parsed, text: string): readonly string[] {
  const found: { readonly at: number; readonly key: string }[] = [];
  visit(document, {
    Map: (_key, map) => {
      const seen = new Set<unknown>();
      for (const { key } of isMap(map) ? map.items : []) {
        if (!isScalar(key) || key.value === "<<") continue;
        if (seen.has(key.value)) found.push({ at: key.range?.[0] ?? 0, key: String(key.value) });
        seen.add(key.value);
      }
    },
  });
  let line = 1;
  let fromOffset = 0;
  return found
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, key }) => {
      line += lineOf(text.slice(fromOffset, at), at) - 1;
      fromOffset = at;
      return `line ${line}: key ${JSON.stringify(key)} already set in map`;
    });
}

const lineOf = (text: string, offset: number) => text.slice(0, offset).split("\n").length;

const plainTags = (tags: Tags): Tags => [
  newOctal,
  ...tags.filter((tag) => {
    if (typeof tag === "string") return !foreign.includes(tag);
    const name = tag.tag.split(":").at(-1) ?? "";
    return !foreign.includes(name) && !("format" in tag && tag.format === "TIME");
  }),
];

/** 0o644: not part of YAML 1.1, but Go accepts it. */
const newOctal: ScalarTag = {
  tag: "tag:yaml.org,2002:int",
  default: true,
  test: /^[-+]?0[oO][0-7_]+$/,
  resolve: (text, _onError, { intAsBigInt }) => {
    const digits = `0o${text.replace(/^[-+]?0[oO]/, "").replaceAll("_", "")}`;
    const value = text.startsWith("-") ? -BigInt(digits) : BigInt(digits);
    return intAsBigInt ? value : Number(value);
  },
};
