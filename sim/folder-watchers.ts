/** Who watches which folder of the fake disk. */
import { LatestCell } from "../src/concurrency/latest-cell.ts";
import { folderOf } from "./fake-disk.ts";

export class FolderWatchers {
  readonly #cells = new Map<string, Set<LatestCell<undefined>>>();

  /** At once, and at every change from then on. */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<void, void, void> {
    const cell = new LatestCell<undefined>(undefined);
    const cells = this.#cells.get(path) ?? new Set();
    this.#cells.set(path, cells.add(cell));
    try {
      for (let seen = -1; ; ) {
        seen = await cell.changed(seen, signal);
        yield;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      cells.delete(cell);
      if (cells.size === 0 && this.#cells.get(path) === cells) this.#cells.delete(path);
    }
  }

  /** Something at the path has changed. */
  tell(path: string): void {
    for (const changed of [path, folderOf(path)]) {
      for (const cell of this.#cells.get(changed) ?? []) cell.set(undefined);
    }
  }

  /** They are gone, with the process that they were of. */
  clear(): void {
    this.#cells.clear();
  }
}
