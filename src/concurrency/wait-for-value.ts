import type { Latest } from "./latest-cell.ts";

/**
 * Resolves with the cell's value once it matches, at once if it already does. Rejects with the signal's reason if the
 * signal aborts first.
 */
export function waitForValue<T, S extends T>(
  cell: Latest<T>,
  matches: (value: T) => value is S,
  signal: AbortSignal,
): Promise<S>;
export function waitForValue<T>(cell: Latest<T>, matches: (value: T) => boolean, signal: AbortSignal): Promise<T>;
export async function waitForValue<T>(
  cell: Latest<T>,
  matches: (value: T) => boolean,
  signal: AbortSignal,
): Promise<T> {
  for (let seen = cell.version; ; seen = await cell.changed(seen, signal)) {
    if (matches(cell.value)) return cell.value;
  }
}
