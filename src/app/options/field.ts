/** One row of the table of configuration fields. */
import type { TypeName, ValueOf } from "./value-types.ts";

/** What becomes of a field that somebody sets. */
export type Support =
  | { readonly kind: "supported" }
  /** Taken and without effect, for good. */
  | { readonly kind: "accepted"; readonly why: string }
  /** Not built yet: taken, and said so whenever the value is not the default. */
  | { readonly kind: "warned"; readonly waits: string }
  /** Set to other than its default, the start fails. */
  | { readonly kind: "refused"; readonly why: string };

export interface Field<T extends TypeName = TypeName, D = ValueOf[T] | undefined> {
  readonly type: T;
  /** Undefined: there is no value until somebody writes one. */
  readonly initial: D;
  /** A zero that is written is meant. Elsewhere it stands for "not written", and the default comes in. */
  readonly keepsZero: boolean;
  readonly flag: string | undefined;
  readonly support: Support;
  /** Relative paths start at the file's folder. */
  readonly isPath: boolean;
  /** Go's name of the type, where it is not the usual one. */
  readonly goType: string | undefined;
}

interface Extras {
  readonly keepsZero?: boolean;
  readonly isPath?: boolean;
  readonly goType?: string;
}

export const supported: Support = { kind: "supported" };
export const accepted = (why: string): Support => ({ kind: "accepted", why });
export const warned = (waits: string): Support => ({ kind: "warned", waits });
export const refused = (why: string): Support => ({ kind: "refused", why });

export function field<T extends TypeName, D extends ValueOf[T] | undefined>(
  type: T,
  initial: D,
  flag: string,
  support: Support,
  { keepsZero = false, isPath = false, goType }: Extras = {},
): Field<T, D> {
  return { type, initial, keepsZero, flag: flag === "" ? undefined : flag, support, isPath, goType };
}

export const pointer: Extras = { keepsZero: true };
export const path: Extras = { isPath: true };
