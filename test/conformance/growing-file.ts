/**
 * A file that other processes append to: reads the lines that were added since the last read. An incomplete line is
 * read once it is complete.
 */
import { type FileHandle, open } from "node:fs/promises";

export class GrowingFile {
  readonly #path: string;
  #file: FileHandle | undefined;
  #rest = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
  }

  async read(onLine: (line: string) => void): Promise<void> {
    this.#file ??= await open(this.#path, "r");
    const chunk = Buffer.alloc(1 << 20);
    for (;;) {
      const { bytesRead } = await this.#file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) return;
      const text = Buffer.concat([this.#rest, chunk.subarray(0, bytesRead)]);
      const end = text.lastIndexOf(0x0a) + 1;
      this.#rest = text.subarray(end);
      for (const line of text.toString("utf8", 0, end).split("\n")) if (line !== "") onLine(line);
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}
