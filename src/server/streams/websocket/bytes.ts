/**
 * A WebSocket as a byte stream: the concatenated content of its binary messages. Any other message breaks the stream.
 */
import { Duplex } from "node:stream";
import { WebSocketConnection } from "./connection.ts";
import { CLOSE, WebSocketFault } from "./frames.ts";

export class WebSocketBytes extends Duplex {
  readonly #socket: Duplex;
  readonly #connection: WebSocketConnection;
  #sent: (() => void) | undefined;

  constructor(socket: Duplex) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    this.#connection = new WebSocketConnection(socket, {
      message: (data, kind) => this.#take(data, kind),
      drained: () => this.#drained(),
      ended: (fault) => this.#ended(fault),
    });
    this.#connection.pause();
    // The stream ends with its socket.
    socket.once("close", () => this.destroy());
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#connection.send(chunk)) done();
    else this.#sent = () => done();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#connection.close(CLOSE.normal, () => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #take(data: Buffer, kind: "text" | "binary"): void {
    if (kind !== "binary") {
      this.#connection.close(CLOSE.unsupported);
      this.destroy(new WebSocketFault(CLOSE.unsupported, "text where bytes are carried"));
      return;
    }
    if (data.length > 0 && !this.push(data)) this.#connection.pause();
  }

  #drained(): void {
    const sent = this.#sent;
    this.#sent = undefined;
    sent?.();
  }

  #ended(fault: Error | undefined): void {
    this.#drained();
    if (fault === undefined) this.push(null);
    else this.destroy(fault);
  }
}
