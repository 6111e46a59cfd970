/** Which real parts the test files of a run start: `test/started-parts.ts` writes a line for each into a directory of the run. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class StartedParts {
  readonly #directory = mkdtempSync(join(tmpdir(), "deckhand-started-"));

  /** For the processes of the test files. */
  get env(): Readonly<Record<string, string>> {
    return { DECKHAND_STARTED_PARTS: this.#directory };
  }

  /** Test file → the names of its parts, each once. */
  byFile(): Readonly<Record<string, readonly string[]>> {
    const files = readdirSync(this.#directory).toSorted();
    return Object.fromEntries(
      files.map((file) => {
        const lines = readFileSync(join(this.#directory, file), "utf8").trim().split("\n");
        return [decodeURIComponent(file), [...new Set(lines)].toSorted()];
      }),
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true });
  }
}
