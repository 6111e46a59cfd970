/**
 * Encodes values in the D-Bus wire format, in little-endian order. A value that does not match its type is a bug in our
 * code and throws.
 */
import { assert } from "../../base/assert.ts";
import { alignmentOf, type BasicCode, type DbusType, type DbusValue, isBytes, parseSignature } from "./signature.ts";

/**
 * Encodes values one after the other. The first is assumed to start at an 8-byte boundary, as bodies and messages do.
 */
export function marshal(signature: string, values: readonly DbusValue[]): Buffer {
  const types = parseSignature(signature);
  assert(types.length === values.length, `${values.length} values for the D-Bus signature ${signature}`);
  const writer = new Writer();
  for (const [index, type] of types.entries()) writer.value(type, values[index]);
  return writer.bytes();
}

class Writer {
  #buffer = Buffer.alloc(256);
  #length = 0;

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  value(type: DbusType, value: unknown): void {
    switch (type.kind) {
      case "basic":
        return this.#basic(type.code, value);
      case "variant":
        return this.#variant(value);
      case "array":
        return this.#array(type.of, value);
      case "struct":
        return this.#struct(type.fields, value);
    }
  }

  #basic(code: BasicCode, value: unknown): void {
    if (code === "s" || code === "o" || code === "g") return this.#text(code, value);
    if (code === "b") {
      assert(typeof value === "boolean", `a D-Bus boolean is ${String(value)}`);
      return this.#number(4, (at) => this.#buffer.writeUInt32LE(value ? 1 : 0, at));
    }
    if (code === "x" || code === "t") {
      assert(typeof value === "bigint", `64 bits of D-Bus are ${String(value)}`);
      const write = (at: number) =>
        code === "t" ? this.#buffer.writeBigUInt64LE(value, at) : this.#buffer.writeBigInt64LE(value, at);
      return this.#number(8, write);
    }
    assert(typeof value === "number", `a D-Bus number is ${String(value)}`);
    const [bytes, write] = NUMBERS[code];
    this.#number(bytes, (at) => write(this.#buffer, value, at));
  }

  #text(code: "s" | "o" | "g", value: unknown): void {
    assert(typeof value === "string" && !value.includes("\0"), `a D-Bus text is ${String(value)}`);
    const bytes = Buffer.from(value, "utf8");
    const isSignature = code === "g";
    this.#number(isSignature ? 1 : 4, (at) =>
      isSignature ? this.#buffer.writeUInt8(bytes.length, at) : this.#buffer.writeUInt32LE(bytes.length, at),
    );
    this.#raw(bytes);
    this.#raw(Buffer.alloc(1));
  }

  #variant(value: unknown): void {
    assert(typeof value === "object" && value !== null && "signature" in value, "a D-Bus variant has a signature");
    const { signature, value: inner } = value as { readonly signature: string; readonly value: unknown };
    const [type, ...more] = parseSignature(signature);
    assert(type !== undefined && more.length === 0, `a D-Bus variant of ${signature}`);
    this.#text("g", signature);
    this.value(type, inner);
  }

  /** The array's length does not include the padding before its first element. */
  #array(of: DbusType, value: unknown): void {
    this.#number(4, () => 0);
    const lengthAt = this.#length - 4;
    this.#align(alignmentOf(of));
    const start = this.#length;
    if (isBytes(of)) {
      assert(value instanceof Uint8Array, "bytes of D-Bus are a Uint8Array");
      this.#raw(value);
    } else {
      assert(Array.isArray(value), "a D-Bus array is an array");
      for (const element of value) this.value(of, element);
    }
    this.#buffer.writeUInt32LE(this.#length - start, lengthAt);
  }

  #struct(fields: readonly DbusType[], value: unknown): void {
    assert(Array.isArray(value) && value.length === fields.length, "a D-Bus struct has all its fields");
    this.#align(8);
    for (const [index, field] of fields.entries()) this.value(field, value[index]);
  }

  #number(bytes: number, write: (at: number) => unknown): void {
    this.#align(bytes);
    this.#reserve(bytes);
    this.#length += bytes;
    write(this.#length - bytes);
  }

  #raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Padding stays zero: the buffer is never reused. */
  #align(boundary: number): void {
    const padding = (boundary - (this.#length % boundary)) % boundary;
    this.#reserve(padding);
    this.#length += padding;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const larger = Buffer.alloc(Math.max(this.#buffer.length * 2, this.#length + bytes));
    larger.set(this.#buffer);
    this.#buffer = larger;
  }
}

type NumberCode = "y" | "n" | "q" | "i" | "u" | "d";

const NUMBERS: Readonly<
  Record<NumberCode, readonly [bytes: number, write: (buffer: Buffer, value: number, at: number) => unknown]>
> = {
  y: [1, (buffer, value, at) => buffer.writeUInt8(value, at)],
  n: [2, (buffer, value, at) => buffer.writeInt16LE(value, at)],
  q: [2, (buffer, value, at) => buffer.writeUInt16LE(value, at)],
  i: [4, (buffer, value, at) => buffer.writeInt32LE(value, at)],
  u: [4, (buffer, value, at) => buffer.writeUInt32LE(value, at)],
  d: [8, (buffer, value, at) => buffer.writeDoubleLE(value, at)],
};
