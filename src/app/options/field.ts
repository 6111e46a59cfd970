/** One row of the table of configuration fields. */
import type { TypeName, ValueOf } from "./value-types.ts";

/** What happens if a field is set. */
export type Support =
  | { readonly kind: "supported" }
  /** Permanently accepted without effect. */
  | { readonly kind: "accepted"; readonly why: string }
  /** Not implemented yet: accepted, with a warning if the value is not the default. */
  | { readonly kind: "unimplemented"; readonly feature: string }
  /** Startup fails if the value is not the default. */
  | { readonly kind: "refused"; readonly why: string };

export interface Field<T extends TypeName = TypeName, D = ValueOf[T] | undefined> {
  readonly type: T;
  /** Undefined: the field has no value unless it is set. */
  readonly initial: D;
  /** True: a written zero counts. Otherwise zero means "not written", and the default applies. */
  readonly keepsZero: boolean;
  readonly flag: string | undefined;
  readonly support: Support;
  /** True: relative paths are relative to the file's directory. */
  readonly isPath: boolean;
  /** Go's name of the type, if it is not the usual one. */
  readonly goType: string | undefined;
}

interface Extras {
  readonly keepsZero?: boolean;
  readonly isPath?: boolean;
  readonly goType?: string;
}

export const supported: Support = { kind: "supported" };
export const accepted = (why: string): Support => ({ kind: "accepted", why });
export const unimplemented = (feature: string): Support => ({ kind: "unimplemented", feature });
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
