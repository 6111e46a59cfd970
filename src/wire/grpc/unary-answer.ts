/**
 * The single message of a unary answer. A second message is an error, upon which the reader ends the call: a server
 * that never stops answering costs one message.
 */
import { FrameReader } from "./frames.ts";
import { RPC_CODE, RpcError } from "./rpc-channel.ts";

/** The Go client's wording. */
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
