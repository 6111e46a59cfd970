/**
 * Reading what the runtime answers: every value is checked once, here, so that nothing behind the wire meets an impossible one.
 * A check that fails throws `Malformed`; the caller turns it into an error, or leaves that item out of a list.
 */
import { assert } from "../../base/assert.ts";

/** What the runtime said cannot be true. The message says what and where, without the values of others. */
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
 * Nanoseconds since 1970; 0 where it is not known. containerd writes a time that it never set as one of the year 1: so it tells of a sandbox
 * whose making was cut short, and that must still be ended.
 */
export const wallNs = (value: bigint): bigint => (value < 0n ? 0n : value);

/** CRI writes "not yet" as zero. */
export const wallNsOrAbsent = (value: bigint): bigint | undefined => (value <= 0n ? undefined : value);

/** A 64-bit value that a JavaScript number holds exactly, or nothing: digits are never lost silently. */
export function exactNumber(value: bigint, what: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new Malformed(`${what} does not fit a number: ${value}`);
  return number;
}

/** An enum's numbers with our words for them. */
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

/** An object without the keys whose value is undefined: absent and undefined are not the same under our types. */
export function present<T extends object>(value: T): Present<T> {
  // Nothing but undefined fields goes, which is exactly what the type says.
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(entries) as Present<T>;
}

type Present<T> = {
  readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & { readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };
