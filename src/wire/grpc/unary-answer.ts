/**
 * The one message that a unary call is answered with. A second one is an error, and whoever reads ends the call: a server that never stops
 * answering costs one message.
 */
import { FrameReader } from "./frames.ts";
import { RPC_CODE, RpcError } from "./rpc-channel.ts";

/** In the words of Go's client. */
const SECOND_MESSAGE =
  "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message";

export class UnaryAnswer {
  readonly #reader: FrameReader;
  #message: Buffer | undefined;

  constructor(bytesMax: number) {
    this.#reader = new FrameReader(bytesMax);
  }

  get message(): Buffer | undefined {
    return this.#message;
  }

  /** Throws an `RpcError`. */
  read(chunk: Buffer): void {
    for (const message of this.#reader.read(chunk)) {
      if (this.#message !== undefined) throw new RpcError(RPC_CODE.internal, SECOND_MESSAGE);
      this.#message = message;
    }
  }
}
