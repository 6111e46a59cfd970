/** gRPC's framing: a flag, a length of four bytes, and the message. */
import { RPC_CODE, RpcError } from "./rpc-channel.ts";

export const FRAME_HEAD_BYTES = 5;

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(FRAME_HEAD_BYTES + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, FRAME_HEAD_BYTES);
  return framed;
}

/** Reassembles messages from chunks of any size. */
export class FrameReader {
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The messages that this chunk completes. */
  read(chunk: Buffer): readonly Buffer[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const messages: Buffer[] = [];
    for (;;) {
      const length = this.#nextLength();
      if (length === undefined || this.#bytes < FRAME_HEAD_BYTES + length) return messages;
      const whole = this.#joined();
      messages.push(whole.subarray(FRAME_HEAD_BYTES, FRAME_HEAD_BYTES + length));
      this.#chunks = [whole.subarray(FRAME_HEAD_BYTES + length)];
      this.#bytes -= FRAME_HEAD_BYTES + length;
    }
  }

  #nextLength(): number | undefined {
    if (this.#bytes < FRAME_HEAD_BYTES) return undefined;
    const [first] = this.#chunks;
    const head = first !== undefined && first.length >= FRAME_HEAD_BYTES ? first : this.#joined();
    if (head[0] !== 0)
      throw new RpcError(RPC_CODE.internal, "the answer is compressed, although no compression was requested");
    const length = head.readUInt32BE(1);
    if (length <= this.#bytesMax) return length;
    throw new RpcError(
      RPC_CODE.resourceExhausted,
      `an answer of ${length} bytes exceeds the limit of ${this.#bytesMax}`,
    );
  }

  #joined(): Buffer {
    const [first] = this.#chunks;
    if (this.#chunks.length === 1 && first !== undefined) return first;
    const whole = Buffer.concat(this.#chunks);
    this.#chunks = [whole];
    return whole;
  }
}
