/** Parses values of unknown shape (JSON, YAML) into typed ones; an error names the place of an unexpected value. */
export class ShapeError extends Error {
  override readonly name = "ShapeError";
}

export type Fields = Readonly<Record<string, unknown>>;

const wrong = (where: string, wanted: string, found: unknown): ShapeError =>
  new ShapeError(`${where}: ${wanted} expected, found ${JSON.stringify(found) ?? "nothing"}`);

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function fields(value: unknown, where: string): Fields {
  if (!isFields(value)) throw wrong(where, "an object", value);
  return value;
}

export function text(value: unknown, where: string): string {
  if (typeof value !== "string") throw wrong(where, "text", value);
  return value;
}

export function number(value: unknown, where: string): number {
  if (typeof value !== "number") throw wrong(where, "a number", value);
  return value;
}

export function boolean(value: unknown, where: string): boolean {
  if (typeof value !== "boolean") throw wrong(where, "true or false", value);
  return value;
}

export function list<T>(value: unknown, where: string, item: (value: unknown, where: string) => T): readonly T[] {
  if (!Array.isArray(value)) throw wrong(where, "a list", value);
  return value.map((each: unknown, index) => item(each, `${where}[${index}]`));
}

export function record<T>(
  value: unknown,
  where: string,
  item: (value: unknown, where: string) => T,
): Readonly<Record<string, T>> {
  const entries = Object.entries(fields(value, where));
  return Object.fromEntries(entries.map(([key, each]) => [key, item(each, `${where}.${key}`)]));
}

export const optional = <T>(
  value: unknown,
  where: string,
  item: (value: unknown, where: string) => T,
): T | undefined => (value === undefined ? undefined : item(value, where));

export const parseJson = (source: string): unknown => JSON.parse(source);
