/** D-Bus types, parsed from a signature: "a(sv)" is an array of structs of a string and a variant. */

export type BasicCode = "y" | "b" | "n" | "q" | "i" | "u" | "x" | "t" | "d" | "s" | "o" | "g";

export type DbusType =
  | { readonly kind: "basic"; readonly code: BasicCode }
  | { readonly kind: "variant" }
  | { readonly kind: "array"; readonly of: DbusType }
  /** Also a dictionary entry, which differs from a struct of a key and a value only in its signature. */
  | { readonly kind: "struct"; readonly fields: readonly DbusType[] };

/** A variant's type travels with its value. */
export interface DbusVariant {
  readonly signature: string;
  readonly value: DbusValue;
}

/**
 * 64-bit integers are bigints, byte arrays a `Uint8Array`; structs and dictionary entries are arrays of their fields.
 */
export type DbusValue = string | number | bigint | boolean | Uint8Array | DbusVariant | readonly DbusValue[];

const BASIC = "ybnqiuxtdsog";
const DEPTH_MAX = 32;

/** Throws if the text is no signature, or contains a type that is not supported here. */
export function parseSignature(text: string): readonly DbusType[] {
  const reader = new SignatureReader(text);
  const types: DbusType[] = [];
  while (!reader.isAtEnd) types.push(reader.next(0));
  return types;
}

/** The alignment of a value of the type, in bytes. */
export function alignmentOf(type: DbusType): number {
  switch (type.kind) {
    case "struct":
      return 8;
    case "array":
      return 4;
    case "variant":
      return 1;
    case "basic":
      return BASIC_ALIGNMENTS[type.code];
  }
}

const BASIC_ALIGNMENTS: Readonly<Record<BasicCode, number>> = {
  y: 1,
  g: 1,
  n: 2,
  q: 2,
  b: 4,
  i: 4,
  u: 4,
  s: 4,
  o: 4,
  x: 8,
  t: 8,
  d: 8,
};

export const isBytes = (type: DbusType): boolean => type.kind === "basic" && type.code === "y";

class SignatureReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  next(depth: number): DbusType {
    const code = this.#text[this.#at] ?? "";
    this.#at += 1;
    if (depth > DEPTH_MAX) throw this.#error();
    if (code === "v") return { kind: "variant" };
    if (code === "a") return { kind: "array", of: this.next(depth + 1) };
    if (code === "(") return { kind: "struct", fields: this.#fields(")", depth) };
    if (code === "{") return { kind: "struct", fields: this.#fields("}", depth) };
    if (code === "" || !BASIC.includes(code)) throw this.#error();
    return { kind: "basic", code: code as BasicCode };
  }

  #fields(end: string, depth: number): readonly DbusType[] {
    const fields: DbusType[] = [];
    while (this.#text[this.#at] !== end) fields.push(this.next(depth + 1));
    this.#at += 1;
    if (fields.length === 0) throw this.#error();
    return fields;
  }

  #error(): Error {
    return new Error(`not a D-Bus signature that is known here: ${JSON.stringify(this.#text)}`);
  }
}
