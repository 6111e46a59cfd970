/**
 * Reads the runtime's answers. Every value is checked once, here, so that code behind this module never sees an invalid
 * one. A failed check throws `Malformed`; the caller turns it into an error, or leaves the item out of a list.
 */
import { assert } from "../../base/assert.ts";

/** The runtime's answer is invalid. The message names the field and the problem, without values of other objects. */
export class Malformed extends Error {
  override readonly name = "Malformed";
}

export function required<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Malformed(`${what} is missing`);
  return value;
}

export function nonEmpty(value: string, what: string): string {
  if (value === "") throw new Malformed(`${what} is empty`);
  return value;
}

/**
 * Nanoseconds since 1970; 0 if unknown. containerd encodes an unset time as one in the year 1. It reports such a time
 * for a sandbox whose creation was interrupted, and that sandbox must still be stopped.
 */
export const wallNs = (value: bigint): bigint => (value < 0n ? 0n : value);

/** CRI encodes "not yet" as zero. */
export const wallNsOrAbsent = (value: bigint): bigint | undefined => (value <= 0n ? undefined : value);

/**
 * Converts a 64-bit value to a number. Throws if a JavaScript number cannot hold it exactly: digits are never lost
 * silently.
 */
export function exactNumber(value: bigint, what: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new Malformed(`${what} does not fit a number: ${value}`);
  return number;
}

/** Pairs of our name for an enum value and the enum's number. */
export type Words<W extends string, E extends number> = readonly (readonly [word: W, number: E])[];

export function wordOf<W extends string, E extends number>(words: Words<W, E>, value: E, what: string): W {
  const found = words.find(([, number]) => number === value);
  if (found === undefined) throw new Malformed(`${what} has the unknown value ${value}`);
  return found[0];
}

export function numberOf<W extends string, E extends number>(words: Words<W, E>, wanted: W): E {
  const found = words.find(([word]) => word === wanted);
  assert(found !== undefined, `no number for ${wanted}`);
  return found[1];
}

/** Copies an object without its undefined keys: our types distinguish absent from undefined. */
export function present<T extends object>(value: T): Present<T> {
  // Only undefined fields are dropped, which is exactly what the type says.
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(entries) as Present<T>;
}

type Present<T> = {
  readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & { readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };
