/** Decodes D-Bus values in either byte order. Invalid bytes throw, which ends the connection. */
import { alignmentOf, type BasicCode, type DbusType, type DbusValue, isBytes, parseSignature } from "./signature.ts";

export class MalformedError extends Error {
  override readonly name = "MalformedError";
}

/** `bytes` start at an 8-byte boundary, as bodies and messages do. Bytes after the last value are ignored. */
export function unmarshal(signature: string, bytes: Buffer, littleEndian = true): readonly DbusValue[] {
  const reader = new Reader(bytes, littleEndian);
  return signatureOf(signature).map((type) => reader.value(type, 0));
}

function signatureOf(text: string): readonly DbusType[] {
  try {
    return parseSignature(text);
  } catch (error) {
    throw new MalformedError(String(error), { cause: error });
  }
}

/** Bounds nesting: variants may contain variants, and a peer must not exhaust our stack with them. */
const DEPTH_MAX = 64;

class Reader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #littleEndian: boolean;
  #at = 0;

  constructor(bytes: Buffer, littleEndian: boolean) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#littleEndian = littleEndian;
  }

  value(type: DbusType, depth: number): DbusValue {
    if (depth > DEPTH_MAX) throw new MalformedError("values of D-Bus inside one another without end");
    switch (type.kind) {
      case "basic":
        return this.#basic(type.code);
      case "variant":
        return this.#variant(depth);
      case "array":
        return this.#array(type.of, depth);
      case "struct":
        this.#align(8);
        return type.fields.map((field) => this.value(field, depth + 1));
    }
  }

  #basic(code: BasicCode): DbusValue {
    const view = this.#view;
    switch (code) {
      case "y":
        return view.getUint8(this.#skip(1));
      case "b":
        return this.#uint32() !== 0;
      case "n":
        return view.getInt16(this.#skip(2), this.#littleEndian);
      case "q":
        return view.getUint16(this.#skip(2), this.#littleEndian);
      case "i":
        return view.getInt32(this.#skip(4), this.#littleEndian);
      case "u":
        return this.#uint32();
      case "x":
        return view.getBigInt64(this.#skip(8), this.#littleEndian);
      case "t":
        return view.getBigUint64(this.#skip(8), this.#littleEndian);
      case "d":
        return view.getFloat64(this.#skip(8), this.#littleEndian);
      case "s":
      case "o":
        return this.#text(this.#uint32());
      case "g":
        return this.#text(view.getUint8(this.#skip(1)));
    }
  }

  #text(length: number): string {
    const start = this.#take(length + 1);
    return this.#bytes.toString("utf8", start, start + length);
  }

  #variant(depth: number): DbusValue {
    const signature = this.#text(this.#view.getUint8(this.#skip(1)));
    const [type, ...more] = signatureOf(signature);
    if (type === undefined || more.length > 0) throw new MalformedError(`a D-Bus variant of ${signature}`);
    return { signature, value: this.value(type, depth + 1) };
  }

  #array(of: DbusType, depth: number): DbusValue {
    const length = this.#uint32();
    this.#align(alignmentOf(of));
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new MalformedError(`a D-Bus array of ${length} bytes goes beyond its message`);
    if (isBytes(of)) return Uint8Array.from(this.#bytes.subarray(this.#take(length), end));
    const elements: DbusValue[] = [];
    while (this.#at < end) elements.push(this.value(of, depth + 1));
    if (this.#at !== end) throw new MalformedError(`a D-Bus array of ${length} bytes ends inside an element`);
    return elements;
  }

  #uint32(): number {
    return this.#view.getUint32(this.#skip(4), this.#littleEndian);
  }

  /** Returns the aligned position of a number of this size, and advances past it. */
  #skip(bytes: number): number {
    this.#align(bytes);
    return this.#take(bytes);
  }

  #align(boundary: number): void {
    this.#at += (boundary - (this.#at % boundary)) % boundary;
  }

  #take(bytes: number): number {
    const start = this.#at;
    this.#at += bytes;
    if (this.#at > this.#bytes.length) throw new MalformedError("a D-Bus message ends inside a value");
    return start;
  }
}
