/**
 * The server side of an open WebSocket: sends and receives whole messages, answers pings, and reports faults in the
 * close frame. It passes messages on at once and in order. `pause` stops reading, and `send` reports backpressure. So
 * only one incomplete message and the answer to the last ping are ever buffered.
 */
import type { Duplex } from "node:stream";
import { WEBSOCKET_MESSAGE_BYTES_MAX } from "../../limits.ts";
import { CLOSE, FrameReader, OPCODE, protocolFault, WebSocketFault, writeFrame } from "./frames.ts";

export interface WebSocketListener {
  message(data: Buffer, kind: "text" | "binary"): void;
  /** Pending data has been sent: more can be written. */
  drained(): void;
  /** Called once, as the last event: either side has closed the connection, or it broke. */
  ended(fault: Error | undefined): void;
}

export class WebSocketConnection {
  readonly #socket: Duplex;
  readonly #listener: WebSocketListener;
  readonly #reader = new FrameReader();
  /** The fragments of an incomplete message: `#filled` bytes in a larger buffer. */
  #message = Buffer.alloc(0);
  #filled = 0;
  #unanswered: Buffer | undefined;
  #kind: "text" | "binary" | undefined;
  #state: "open" | "closing" = "open";
  #reported = false;

  constructor(socket: Duplex, listener: WebSocketListener) {
    this.#socket = socket;
    this.#listener = listener;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("drain", () => this.#drained());
    socket.on("end", () => this.#end(undefined));
    socket.on("close", () => this.#end(undefined));
    socket.on("error", (error) => this.#end(error));
  }

  /** False: wait for `drained` before sending more. */
  send(...parts: readonly Uint8Array[]): boolean {
    if (this.#state !== "open") return true;
    return this.#socket.write(writeFrame(OPCODE.binary, ...parts));
  }

  ping(): void {
    if (this.#state === "open") this.#socket.write(writeFrame(OPCODE.ping));
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /**
   * Delivers earlier messages first. Later input is read and dropped, because closing on unread bytes would reset the
   * connection and lose data in flight. After `sent` the caller limits how long the other side may take to close.
   */
  close(code: number = CLOSE.normal, sent: () => void = () => {}): void {
    if (this.#state !== "open") return sent();
    this.#state = "closing";
    const reason = Buffer.alloc(2);
    reason.writeUInt16BE(code);
    this.#socket.end(writeFrame(OPCODE.close, reason), sent);
    this.#socket.resume();
  }

  #take(chunk: Buffer): void {
    if (this.#state !== "open") return;
    try {
      for (const { opcode, last, payload } of this.#reader.read(chunk)) {
        if (opcode >= OPCODE.close) this.#control(opcode, payload);
        else this.#data(opcode, last, payload);
        if (this.#state !== "open") return;
      }
    } catch (error) {
      if (!(error instanceof WebSocketFault)) throw error;
      this.close(error.code);
      this.#tell(error);
    }
  }

  #drained(): void {
    const payload = this.#unanswered;
    this.#unanswered = undefined;
    if (payload !== undefined) this.#answer(payload);
    this.#listener.drained();
  }

  /**
   * Only the last ping needs an answer (RFC 6455, 5.5.3), so a client that sends pings without reading fills no buffer.
   */
  #answer(payload: Buffer): void {
    if (this.#state !== "open") return;
    if (this.#socket.writableNeedDrain) this.#unanswered = payload;
    else this.#socket.write(writeFrame(OPCODE.pong, payload));
  }

  #control(opcode: number, payload: Buffer): void {
    if (opcode === OPCODE.ping) this.#answer(payload);
    if (opcode !== OPCODE.close) return;
    if (payload.length === 1) throw protocolFault("a closing frame with half a code");
    this.close(CLOSE.normal);
    this.#tell(undefined);
  }

  #data(opcode: number, last: boolean, payload: Buffer): void {
    if ((opcode === OPCODE.continuation) !== (this.#kind !== undefined)) throw protocolFault("parts out of order");
    if (opcode !== OPCODE.continuation) this.#kind = opcode === OPCODE.text ? "text" : "binary";
    if (this.#filled + payload.length > WEBSOCKET_MESSAGE_BYTES_MAX)
      throw new WebSocketFault(CLOSE.tooBig, "a message too long");
    const isAlone = last && this.#filled === 0;
    if (!isAlone) this.#append(payload);
    if (!last) return;
    const kind = this.#kind ?? "binary";
    const whole = isAlone ? payload : this.#message.subarray(0, this.#filled);
    this.#message = Buffer.alloc(0);
    this.#filled = 0;
    this.#kind = undefined;
    this.#listener.message(whole, kind);
  }

  /**
   * Appends to one buffer: a fragment may be a single byte, and an object per fragment would take a hundred times the
   * memory.
   */
  #append(payload: Buffer): void {
    const needed = this.#filled + payload.length;
    if (this.#message.length < needed) {
      const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#message.length));
      this.#message.copy(grown, 0, 0, this.#filled);
      this.#message = grown;
    }
    payload.copy(this.#message, this.#filled);
    this.#filled = needed;
  }

  #end(fault: Error | undefined): void {
    this.#state = "closing";
    this.#socket.destroy();
    this.#tell(fault);
  }

  #tell(fault: Error | undefined): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#listener.ended(fault);
  }
}
