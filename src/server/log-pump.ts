/**
 * Moves a log through a formatter to the client. While one chunk is written, the next is read and formatted, and then
 * waits for the writer. An incomplete line is held until it is complete; a line that exceeds the buffer is passed on in
 * parts.
 */
import type { LogFormatter } from "../domain/logs/log-formatter.ts";

/** Large enough to make system calls negligible, small enough for many concurrent readers. */
const PIECE_BYTES = 256 * 1024;

/** Fewer bytes than `into` holds mean that the log currently ends there. */
export type LogBytes = (into: Uint8Array) => Promise<number>;

export class LogPump {
  readonly #formatter: LogFormatter;
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #signal: AbortSignal;
  readonly #buffer = new Uint8Array(PIECE_BYTES);
  #held = 0;
  /** The write in progress. */
  #writing: Promise<void> = Promise.resolve();

  constructor(formatter: LogFormatter, write: (bytes: Uint8Array) => Promise<void>, signal: AbortSignal) {
    this.#formatter = formatter;
    this.#write = write;
    this.#signal = signal;
  }

  get isOpen(): boolean {
    return this.#formatter.state.kind === "open";
  }

  /** Reads to the current end of the log, or as far as the client wants. Returns whether anything was read. */
  async drain(read: LogBytes): Promise<boolean> {
    let isAny = false;
    while (this.isOpen) {
      this.#signal.throwIfAborted();
      const room = this.#buffer.subarray(this.#held);
      const bytes = await read(room);
      if (bytes > 0) {
        isAny = true;
        await this.#show(this.#held + bytes);
      }
      if (bytes < room.length) break;
    }
    await this.#writing;
    return isAny;
  }

  /** Ends the file: the held bytes are its last line. */
  async endFile(): Promise<void> {
    const rest = this.#buffer.subarray(0, this.#held);
    this.#held = 0;
    if (this.isOpen && rest.length > 0) await this.#send(this.#formatter.takeRest(rest));
    await this.#writing;
    this.#formatter.beginFile();
  }

  async #show(length: number): Promise<void> {
    const bytes = this.#buffer.subarray(0, length);
    const { used, output } = this.#formatter.take(bytes);
    this.#buffer.copyWithin(0, used, length);
    this.#held = length - used;
    if (output.length > 0) await this.#send(output);
    if (this.#held < PIECE_BYTES || !this.isOpen) return;
    this.#held = 0;
    await this.#send(this.#formatter.takeLong(this.#buffer));
  }

  /** Resolves when the previous chunk has been written. */
  async #send(output: Uint8Array): Promise<void> {
    await this.#writing;
    this.#writing = this.#write(output);
    this.#writing.catch(() => {}); // The next caller that awaits it gets the error.
  }
}
