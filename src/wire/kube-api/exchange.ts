/**
 * One request and its answer on one stream. A single reader waits for the head, then for chunks. A reader that gives
 * up, by its signal or by `cancel`, resets the stream. A body is complete only if the server ended it: a connection
 * that breaks in mid-body is an error, however much arrived.
 */
import { type ClientHttp2Stream, constants } from "node:http2";
import { ApiUnreachableError } from "../../ports/api-error.ts";
import { UnseenRequestError } from "./retry.ts";
import type { OpenStream } from "./session-pool.ts";

export interface ResponseHead {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly encoding: string | undefined;
}

/** Above this the stream is paused, and HTTP/2 flow control holds the server back. */
const BUFFER_BYTES_MAX = 2 ** 20;

type End = { readonly kind: "complete" } | { readonly kind: "broken"; readonly error: ApiUnreachableError };

export class Exchange {
  readonly #operation: string;
  readonly #open: OpenStream;
  readonly #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  #head: ResponseHead | undefined;
  #ended = false;
  #end: End | undefined;
  #wake: () => void = () => {};

  constructor(operation: string, open: OpenStream, body: Buffer | undefined) {
    this.#operation = operation;
    this.#open = open;
    this.#listen(open.stream);
    if (body !== undefined) open.stream.end(body);
  }

  async head(signal: AbortSignal): Promise<ResponseHead> {
    for (;;) {
      if (this.#head !== undefined) return this.#head;
      if (this.#end?.kind === "broken") throw this.#end.error;
      await this.#change(signal);
    }
  }

  /** The next bytes of the body; undefined at its end. */
  async chunk(signal: AbortSignal): Promise<Buffer | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#bufferedBytes -= chunk.length;
        if (this.#bufferedBytes < BUFFER_BYTES_MAX) this.#open.stream.resume();
        return chunk;
      }
      if (this.#end?.kind === "broken") throw this.#end.error;
      if (this.#end?.kind === "complete") return undefined;
      await this.#change(signal);
    }
  }

  async body(signal: AbortSignal): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for (let chunk = await this.chunk(signal); chunk !== undefined; chunk = await this.chunk(signal))
      chunks.push(chunk);
    return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
  }

  /** Resets the stream, if it has not ended yet. */
  cancel(): void {
    if (this.#end === undefined) this.#open.stream.close(constants.NGHTTP2_CANCEL);
  }

  #listen(stream: ClientHttp2Stream): void {
    let failure: Error | undefined;
    stream.on("response", (head) => {
      this.#open.session.heard();
      this.#head = {
        status: head[":status"] ?? 0,
        retryAfter: head["retry-after"],
        encoding: head["content-encoding"],
      };
      this.#wake();
    });
    stream.on("data", (chunk: Buffer) => {
      this.#open.session.heard();
      this.#chunks.push(chunk);
      this.#bufferedBytes += chunk.length;
      if (this.#bufferedBytes >= BUFFER_BYTES_MAX) stream.pause();
      this.#wake();
    });
    stream.on("end", () => {
      this.#ended = true;
    });
    stream.on("error", (error: Error) => {
      failure = error;
    });
    stream.on("close", () => {
      this.#end = this.#judge(stream, failure);
      this.#wake();
    });
  }

  #judge(stream: ClientHttp2Stream, failure: Error | undefined): End {
    // "end" alone proves nothing: it is also emitted when the connection closes under the stream.
    const whole = this.#ended && this.#head !== undefined && !stream.aborted;
    if (whole && failure === undefined && stream.rstCode === constants.NGHTTP2_NO_ERROR) return { kind: "complete" };
    const { session } = this.#open;
    const cause = failure ?? session.failure;
    const error = session.neverSaw(stream)
      ? new UnseenRequestError(this.#operation, cause)
      : new ApiUnreachableError(this.#operation, cause.message, true, { cause });
    return { kind: "broken", error };
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#wake = () => {};
        this.cancel();
        reject(signal.reason);
      };
      if (signal.aborted) {
        onAbort();
        return;
      }
      this.#wake = () => {
        this.#wake = () => {};
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
