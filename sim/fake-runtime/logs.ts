/** Container logs in CRI format, written to the world's files. */

/** A file that is open for writing. It stays the same file when it is renamed or removed. */
export interface OpenFile {
  append(bytes: Uint8Array): void;
}

export interface LogSink {
  /** Creates the file if it is missing. */
  open(path: string): OpenFile;
}

export const NO_LOGS: LogSink = { open: () => ({ append: () => {} }) };

const LINE_FEED = 0x0a;

/** One log of one container. */
export class ContainerLog {
  readonly #sink: LogSink;
  readonly #path: string;
  #file: OpenFile;

  constructor(sink: LogSink, path: string) {
    this.#sink = sink;
    this.#path = path;
    this.#file = sink.open(path);
  }

  reopen(): void {
    this.#file = this.#sink.open(this.#path);
  }

  write(stream: "stdout" | "stderr", bytes: Uint8Array, wallNs: bigint): void {
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf(LINE_FEED, start);
      const line = bytes.subarray(start, end < 0 ? bytes.length : end);
      const head = Buffer.from(`${rfc3339Nano(wallNs)} ${stream} ${end < 0 ? "P" : "F"} `);
      this.#file.append(Buffer.concat([head, line, Buffer.from([LINE_FEED])]));
      start = end < 0 ? bytes.length : end + 1;
    }
  }
}

function rfc3339Nano(wallNs: bigint): string {
  const seconds = new Date(Number(wallNs / 1_000_000n)).toISOString().slice(0, 19);
  return `${seconds}.${String(wallNs % 1_000_000_000n).padStart(9, "0")}Z`;
}
