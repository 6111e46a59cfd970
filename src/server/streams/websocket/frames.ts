/**
 * Reads and writes the frames of RFC 6455 as a server. It accepts only masked, valid frames within the size limit.
 * Anything else throws a `WebSocketFault`, after which the connection is unusable. No extensions are supported.
 */
import { WEBSOCKET_MESSAGE_BYTES_MAX } from "../../limits.ts";

const CONTROL_BYTES_MAX = 125;
const FIRST_ALLOCATION_BYTES = 4_096;

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const KNOWN: ReadonlySet<number> = new Set(Object.values(OPCODE));

export const CLOSE = { normal: 1000, goingAway: 1001, protocolError: 1002, unsupported: 1003, tooBig: 1009 } as const;

export class WebSocketFault extends Error {
  override readonly name = "WebSocketFault";
  /** The status code for the close frame. */
  readonly code: number;
  constructor(code: number, text: string) {
    super(text);
    this.code = code;
  }
}

export interface Frame {
  readonly opcode: number;
  readonly last: boolean;
  readonly payload: Buffer;
}

interface Head {
  readonly opcode: number;
  readonly last: boolean;
  readonly mask: Buffer;
  readonly length: number;
}

/** Accepts bytes in chunks of any size. Buffers at most twice the received bytes. */
export class FrameReader {
  #headBytes = Buffer.alloc(0);
  #head: Head | undefined;
  #payload = Buffer.alloc(0);
  #filled = 0;

  *read(chunk: Uint8Array): Generator<Frame, void> {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    while (rest.length > 0) {
      if (this.#head === undefined) rest = this.#takeHead(rest);
      if (this.#head === undefined) return;
      rest = this.#takePayload(this.#head, rest);
      if (this.#filled < this.#head.length) return;
      yield this.#whole(this.#head);
    }
  }

  #takeHead(bytes: Buffer): Buffer {
    const before = this.#headBytes.length;
    const known = Buffer.concat([this.#headBytes, bytes.subarray(0, 14 - before)]);
    const size = headSize(known);
    if (size === undefined || known.length < size) {
      this.#headBytes = known;
      return bytes.subarray(known.length - before);
    }
    this.#head = parseHead(known.subarray(0, size));
    this.#headBytes = Buffer.alloc(0);
    return bytes.subarray(size - before);
  }

  #takePayload({ mask, length }: Head, bytes: Buffer): Buffer {
    const part = bytes.subarray(0, length - this.#filled);
    this.#grow(length, this.#filled + part.length);
    for (let index = 0; index < part.length; index += 1) {
      const at = this.#filled + index;
      this.#payload[at] = (part[index] ?? 0) ^ (mask[at & 3] ?? 0);
    }
    this.#filled += part.length;
    return bytes.subarray(part.length);
  }

  #grow(length: number, needed: number): void {
    if (this.#payload.length >= needed) return;
    const size = Math.min(length, Math.max(needed, 2 * this.#payload.length, FIRST_ALLOCATION_BYTES));
    const grown = Buffer.allocUnsafe(size);
    this.#payload.copy(grown, 0, 0, this.#filled);
    this.#payload = grown;
  }

  #whole({ opcode, last, length }: Head): Frame {
    const payload = this.#payload.subarray(0, length);
    this.#head = undefined;
    this.#payload = Buffer.alloc(0);
    this.#filled = 0;
    return { opcode, last, payload };
  }
}

/** Undefined while more bytes are needed. */
function headSize(bytes: Buffer): number | undefined {
  const second = bytes[1];
  if (second === undefined) return undefined;
  const short = second & 0x7f;
  const extended = short === 126 ? 2 : short === 127 ? 8 : 0;
  return 2 + extended + ((second & 0x80) === 0 ? 0 : 4);
}

function parseHead(bytes: Buffer): Head {
  const first = bytes.readUInt8(0);
  const second = bytes.readUInt8(1);
  const opcode = first & 0x0f;
  const last = (first & 0x80) !== 0;
  const length = lengthOf(bytes, second & 0x7f);
  if ((first & 0x70) !== 0) throw protocolFault("an extension that was not agreed on");
  if (!KNOWN.has(opcode)) throw protocolFault("an unknown kind of frame");
  if ((second & 0x80) === 0) throw protocolFault("a frame without a mask");
  if (opcode >= OPCODE.close && (!last || length > CONTROL_BYTES_MAX)) throw protocolFault("a control frame too long");
  if (length > WEBSOCKET_MESSAGE_BYTES_MAX) throw new WebSocketFault(CLOSE.tooBig, "a frame too long");
  return { opcode, last, mask: Buffer.from(bytes.subarray(bytes.length - 4)), length };
}

function lengthOf(bytes: Buffer, short: number): number {
  if (short < 126) return short;
  return short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
}

export const protocolFault = (what: string) => new WebSocketFault(CLOSE.protocolError, what);

/** Encodes a whole message or control frame, unmasked, as servers must. */
export function writeFrame(opcode: number, ...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([frameHead(opcode, length), ...parts]);
}

function frameHead(opcode: number, length: number): Buffer {
  if (length < 126) return Buffer.from([0x80 | opcode, length]);
  if (length < 65_536) {
    const head = Buffer.from([0x80 | opcode, 126, 0, 0]);
    head.writeUInt16BE(length, 2);
    return head;
  }
  const head = Buffer.alloc(10);
  head[0] = 0x80 | opcode;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}
