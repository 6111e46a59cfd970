/**
 * Collects which real parts a run's test files start; `test/started-parts.ts` writes a line for each into a directory.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class StartedParts {
  readonly #directory = mkdtempSync(join(tmpdir(), "deckhand-started-"));

  /** Environment for the processes of the test files. */
  get env(): Readonly<Record<string, string>> {
    return { DECKHAND_STARTED_PARTS: this.#directory };
  }

  /** Maps a test file to the names of its parts, without duplicates. */
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
