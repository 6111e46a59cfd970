/** Converts answers to plain JSON, so that they can be compared, and finds where two of them differ. */

/** Maps become objects, sets become sorted lists, big integers become text, and the keys of objects are sorted. */
export function neutralJson(value: unknown): unknown {
  if (value instanceof Map) return neutralJson(Object.fromEntries(value));
  if (value instanceof Set) return [...value].map(neutralJson).toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
  if (Array.isArray(value)) return value.map((item) => (item === undefined ? null : neutralJson(item)));
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, neutralJson(item)]),
  );
}

const textOf = (value: unknown): string => JSON.stringify(value) ?? "";

/** A line for each place where the answers differ, with the Go kubelet's value and Deckhand's. */
export function differingLeaves(go: unknown, deckhand: unknown, where = ""): readonly string[] {
  if (Object.is(go, deckhand)) return [];
  if (Array.isArray(go) && Array.isArray(deckhand) && go.length !== deckhand.length) {
    return [`${where}\n    only Go       ${missingFrom(deckhand, go)}\n    only Deckhand ${missingFrom(go, deckhand)}`];
  }
  if (isRecord(go) && isRecord(deckhand) && Array.isArray(go) === Array.isArray(deckhand)) {
    const keys = [...new Set([...Object.keys(go), ...Object.keys(deckhand)])];
    return keys.flatMap((key) => differingLeaves(go[key], deckhand[key], `${where}.${key}`));
  }
  return [`${where}\n    Go       ${JSON.stringify(go)}\n    Deckhand ${JSON.stringify(deckhand)}`];
}

function missingFrom(these: readonly unknown[], those: readonly unknown[]): string {
  const known = new Set(these.map(textOf));
  return JSON.stringify(those.filter((item) => !known.has(textOf(item))));
}

export const leafCount = (value: unknown): number =>
  isRecord(value) ? Object.values(value).reduce<number>((sum, item) => sum + leafCount(item), 0) : 1;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
