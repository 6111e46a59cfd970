/**
 * The client side of a SPDY/3.1 connection to a runtime's streaming server. SPDY flow control windows are not used:
 * existing servers (all based on one Go library) neither send nor respect them, so waiting for one would block forever.
 * Backpressure comes from the connection itself.
 *
 * Nothing may be written to a stream before the server's reply: the server drops such data.
 */
import type { Duplex } from "node:stream";
import { controlFrame, dataHead, hasFinished, SpdyFault, SpdyReader, streamOf, TYPE } from "./frames.ts";
import { headerBlock, uint32 } from "./header-block.ts";

export interface SpdyListener {
  replied(stream: number): void;
  data(stream: number, bytes: Buffer): void;
  /** No more data arrives on this stream. Servers end streams by FIN or by RST_STREAM, with the same meaning. */
  finished(stream: number): void;
  drained(): void;
  /** Called once, as the last event. */
  ended(fault: Error | undefined): void;
}

/** Frames are written whole, and servers read one at a time. */
const DATA_BYTES_MAX = 65_536;

export class SpdyConnection {
  readonly #socket: Duplex;
  readonly #listener: SpdyListener;
  readonly #reader = new SpdyReader();
  #nextStream = 1;
  #ended = false;

  constructor(socket: Duplex, listener: SpdyListener) {
    this.#socket = socket;
    this.#listener = listener;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("drain", () => listener.drained());
    socket.on("end", () => this.#end(undefined));
    socket.on("close", () => this.#end(undefined));
    socket.on("error", (error) => this.#end(error));
  }

  open(headers: Readonly<Record<string, string>>): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    // No associated stream, and two bytes for priority and slot.
    const head = [uint32(stream, 0), Buffer.alloc(2)];
    this.#socket.write(controlFrame(TYPE.synStream, ...head, headerBlock(headers, stream === 1)));
    return stream;
  }

  /** False: wait for `drained` before writing more. */
  write(stream: number, bytes: Uint8Array): boolean {
    let room = true;
    for (let at = 0; at < bytes.length; at += DATA_BYTES_MAX) {
      const part = bytes.subarray(at, at + DATA_BYTES_MAX);
      room = this.#socket.write(Buffer.concat([dataHead(stream, part.length, false), part]));
    }
    return room;
  }

  /** Sends FIN: no more data follows on this stream. */
  finish(stream: number): void {
    this.#socket.write(dataHead(stream, 0, true));
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Earlier writes are delivered first. */
  close(): void {
    this.#socket.end(controlFrame(TYPE.goAway, uint32(0, 0)), () => this.destroy());
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#ended) return;
    try {
      for (const event of this.#reader.read(chunk)) {
        if (event.kind === "data") this.#listener.data(event.stream, event.bytes);
        else if (event.kind === "finished") this.#listener.finished(event.stream);
        else this.#control(event.type, event.flags, event.payload);
      }
    } catch (error) {
      if (!(error instanceof SpdyFault)) throw error;
      this.#end(error);
    }
  }

  #control(type: number, flags: number, payload: Buffer): void {
    switch (type) {
      case TYPE.synReply:
        this.#listener.replied(streamOf(payload));
        if (hasFinished(flags)) this.#listener.finished(streamOf(payload));
        return;
      case TYPE.rstStream:
        return this.#listener.finished(streamOf(payload));
      case TYPE.headers:
        if (hasFinished(flags)) this.#listener.finished(streamOf(payload));
        return;
      case TYPE.ping:
        // Server pings have even IDs; an odd one would be the reply to a ping of ours.
        if (streamOf(payload) % 2 === 0) this.#socket.write(controlFrame(TYPE.ping, payload));
        return;
      case TYPE.synStream:
        throw new SpdyFault("an unrequested stream");
      default:
        // Settings and window updates have no effect here; GOAWAY is followed by the end of the connection.
        return;
    }
  }

  #end(fault: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#listener.ended(fault);
    this.#socket.destroy();
  }
}
