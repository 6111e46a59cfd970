/**
 * Moves a log's bytes through a formatter to whoever asked. While one piece is being written the next is read and shown, and then waits until the
 * writer has room again. A line that is not whole is held until it is; one too long to be held is passed on in parts.
 */
import type { LogFormatter } from "../domain/logs/log-formatter.ts";

/** What is read, shown and written at once: large enough that a system call costs nothing beside it, small enough for many readers. */
const PIECE_BYTES = 256 * 1024;

/** Fewer bytes than there is room for mean that it ends there, for now. */
export type LogBytes = (into: Uint8Array) => Promise<number>;

export class LogPump {
  readonly #formatter: LogFormatter;
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #signal: AbortSignal;
  readonly #buffer = new Uint8Array(PIECE_BYTES);
  #held = 0;
  /** The piece that is on its way. */
  #writing: Promise<void> = Promise.resolve();

  constructor(formatter: LogFormatter, write: (bytes: Uint8Array) => Promise<void>, signal: AbortSignal) {
    this.#formatter = formatter;
    this.#write = write;
    this.#signal = signal;
  }

  get isOpen(): boolean {
    return this.#formatter.state.kind === "open";
  }

  /** To the end that the log has now, or as far as is wanted. Answers whether there was anything. */
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

  /** Nothing follows what is held: it is the end of this file. */
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

  /** Comes back when what was sent before is written. */
  async #send(output: Uint8Array): Promise<void> {
    await this.#writing;
    this.#writing = this.#write(output);
    this.#writing.catch(() => {}); // Whoever waits for it next is told.
  }
}
