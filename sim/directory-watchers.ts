/** Watchers of directories on the fake disk. */
import { Notifier } from "../src/concurrency/notifier.ts";
import { directoryOf } from "./fake-disk.ts";

export class DirectoryWatchers {
  readonly #cells = new Map<string, Set<Notifier>>();

  /** Yields at once, then on every change. */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<void, void, void> {
    const cell = new Notifier();
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

  /** Notifies the watchers of the path and of its parent directory. */
  tell(path: string): void {
    for (const changed of [path, directoryOf(path)]) {
      for (const cell of this.#cells.get(changed) ?? []) cell.notify();
    }
  }

  /** Drops all watchers, because the process they belong to has ended. */
  clear(): void {
    this.#cells.clear();
  }
}
