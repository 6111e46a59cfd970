/**
 * A YAML or JSON text as plain values, read as sigs.k8s.io/yaml does: YAML 1.1 without its dates and sixties, the first document
 * only, keys that are text. Bounded in size, depth and aliases. Whole numbers are bigints.
 */
import { type ParseOptions, parseAllDocuments, type Tags } from "yaml";

export const BYTES_MAX = 1 << 20;
const DEPTH_MAX = 64;
const ALIASES_MAX = 100;

/** No YAML at all, or beyond the bounds. */
export class DocumentFault extends Error {
  override readonly name = "DocumentFault";
}

export interface ReadDocument {
  readonly value: unknown;
  /** In the words of go-yaml: each key that a map has twice. The last one counts. */
  readonly duplicateKeys: readonly string[];
}

/** Go's library does not know these two ways of writing; it takes them as text. */
const withoutTimes = (tags: Tags): Tags =>
  tags.filter((tag) => typeof tag === "string" || !(tag.tag.endsWith(":timestamp") || tag.format === "TIME"));

const options = {
  version: "1.1",
  intAsBigInt: true,
  uniqueKeys: false,
  customTags: withoutTimes,
  prettyErrors: false,
} as const satisfies ParseOptions & Record<string, unknown>;

export function readDocument(text: string): ReadDocument {
  if (Buffer.byteLength(text) > BYTES_MAX) throw new DocumentFault(`larger than ${BYTES_MAX} bytes`);
  try {
    requireDepth(text);
    const first = firstDocument(text, false);
    if (first === undefined) return { value: null, duplicateKeys: [] };
    const error = first.errors[0];
    if (error !== undefined) throw new DocumentFault(`yaml: line ${lineOf(text, error.pos[0])}: ${error.message}`);
    const value: unknown = first.toJS({ maxAliasCount: ALIASES_MAX });
    return { value, duplicateKeys: duplicateKeys(text) };
  } catch (error) {
    if (error instanceof DocumentFault) throw error;
    throw new DocumentFault(`yaml: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function firstDocument(text: string, uniqueKeys: boolean) {
  const documents = parseAllDocuments(text, { ...options, uniqueKeys });
  return Array.isArray(documents) ? documents[0] : undefined;
}

function duplicateKeys(text: string): readonly string[] {
  const errors = firstDocument(text, true)?.errors ?? [];
  return errors
    .filter(({ code }) => code === "DUPLICATE_KEY")
    .map(({ pos }) => {
      const key =
        /^[^:\n]*/
          .exec(text.slice(pos[0]))?.[0]
          .trim()
          .replace(/^["']|["']$/g, "") ?? "";
      return `line ${lineOf(text, pos[0])}: key ${JSON.stringify(key)} already set in map`;
    });
}

const lineOf = (text: string, offset: number) => text.slice(0, offset).split("\n").length;

/** Before the parser sees it, which would run out of stack: neither brackets nor indentation go deeper than this. */
function requireDepth(text: string): void {
  const tooDeep = () => new DocumentFault(`nested deeper than ${DEPTH_MAX}`);
  let depth = 0;
  for (const character of text) {
    if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth = Math.max(0, depth - 1);
    if (depth > DEPTH_MAX) throw tooDeep();
  }
  const indents: number[] = [];
  const enter = (column: number) => {
    while ((indents.at(-1) ?? -1) >= column) indents.pop();
    indents.push(column);
    if (indents.length > DEPTH_MAX) throw tooDeep();
  };
  for (const line of text.split("\n")) {
    let column = 0;
    for (; line[column] === " " || (line[column] === "-" && line[column + 1] === " "); column += 1) {
      if (line[column] === "-") enter(column);
    }
    if (column < line.length) enter(column);
  }
}
