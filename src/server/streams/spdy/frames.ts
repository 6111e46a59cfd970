/**
 * SPDY/3.1 frames, as far as a client of a streaming server needs them. Data is passed on as it arrives, without
 * waiting for the whole frame. Control frames are buffered, and their size is limited.
 */

import { SPDY_CONTROL_BYTES_MAX } from "../../limits.ts";
import { uint32 } from "./header-block.ts";

export const TYPE = { synStream: 1, synReply: 2, rstStream: 3, settings: 4, ping: 6, goAway: 7, headers: 8 } as const;

const VERSION = 3;
const FLAG_FIN = 1;
const STREAM_ID = 0x7fff_ffff;

export type SpdyEvent =
  | { readonly kind: "data"; readonly stream: number; readonly bytes: Buffer }
  | { readonly kind: "finished"; readonly stream: number }
  | { readonly kind: "control"; readonly type: number; readonly flags: number; readonly payload: Buffer };

interface Head {
  readonly control: number | undefined;
  readonly stream: number;
  readonly flags: number;
  readonly length: number;
}

export class SpdyFault extends Error {
  override readonly name = "SpdyFault";
}

/** Accepts bytes in chunks of any size. */
export class SpdyReader {
  #headBytes = Buffer.alloc(0);
  #head: Head | undefined;
  #seen = 0;
  #held: Buffer[] = [];

  *read(chunk: Uint8Array): Generator<SpdyEvent, void> {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    while (rest.length > 0) {
      if (this.#head === undefined) rest = this.#takeHead(rest);
      const head = this.#head;
      if (head === undefined) return;
      const part = rest.subarray(0, head.length - this.#seen);
      rest = rest.subarray(part.length);
      this.#seen += part.length;
      if (part.length > 0) {
        if (head.control === undefined) yield { kind: "data", stream: head.stream, bytes: part };
        else this.#held.push(part);
      }
      if (this.#seen < head.length) return;
      yield* this.#ended(head);
    }
  }

  #takeHead(bytes: Buffer): Buffer {
    const part = bytes.subarray(0, 8 - this.#headBytes.length);
    this.#headBytes = Buffer.concat([this.#headBytes, part]);
    if (this.#headBytes.length === 8) {
      this.#head = parseHead(this.#headBytes);
      this.#headBytes = Buffer.alloc(0);
    }
    return bytes.subarray(part.length);
  }

  *#ended({ control, stream, flags }: Head): Generator<SpdyEvent, void> {
    const payload = Buffer.concat(this.#held);
    this.#head = undefined;
    this.#seen = 0;
    this.#held = [];
    if (control !== undefined) yield { kind: "control", type: control, flags, payload };
    else if ((flags & FLAG_FIN) !== 0) yield { kind: "finished", stream };
  }
}

function parseHead(bytes: Buffer): Head {
  const first = bytes.readUInt32BE(0);
  const second = bytes.readUInt32BE(4);
  const [flags, length] = [second >>> 24, second & 0xff_ffff];
  if ((first & 0x8000_0000) === 0) return { control: undefined, stream: first & STREAM_ID, flags, length };
  if (((first >>> 16) & 0x7fff) !== VERSION) throw new SpdyFault("a frame of another version");
  if (length > SPDY_CONTROL_BYTES_MAX) throw new SpdyFault("a control frame too long");
  return { control: first & 0xffff, stream: 0, flags, length };
}

export const hasFinished = (flags: number): boolean => (flags & FLAG_FIN) !== 0;

/** The stream ID of a control frame, or the ID of a ping. */
export function streamOf(payload: Buffer): number {
  if (payload.length < 4) throw new SpdyFault("a control frame too short");
  return payload.readUInt32BE(0) & STREAM_ID;
}

export function controlFrame(type: number, ...parts: readonly Buffer[]): Buffer {
  const payload = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([0x80, VERSION, 0, type]), uint32(payload.length), payload]);
}

export const dataHead = (stream: number, length: number, finished: boolean): Buffer =>
  uint32(stream, ((finished ? FLAG_FIN : 0) << 24) | length);
