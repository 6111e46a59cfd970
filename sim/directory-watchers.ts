/** Watchers of directories on the fake disk. */
import { Notifier } from "../src/concurrency/notifier.ts";
import type { DirectoryHint } from "../src/ports/host-files.ts";
import { directoryOf, nameOf } from "./fake-disk.ts";

class Watcher extends Notifier {
  readonly #removed = new Set<string>();
  #recreated = new Set<string>();

  removed(name: string): void {
    this.#removed.add(name);
    this.notify();
  }

  appeared(name: string): void {
    if (this.#removed.delete(name)) this.#recreated.add(name);
    this.notify();
  }

  take(): DirectoryHint {
    const recreated = this.#recreated;
    this.#recreated = new Set();
    return { recreated };
  }
}

export class DirectoryWatchers {
  readonly #cells = new Map<string, Set<Watcher>>();

  /** Yields at once, then on every change. */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<DirectoryHint, void, void> {
    const cell = new Watcher();
    const cells = this.#cells.get(path) ?? new Set();
    this.#cells.set(path, cells.add(cell));
    try {
      for (let seen = -1; ; ) {
        seen = await cell.changed(seen, signal);
        yield cell.take();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      cells.delete(cell);
      if (cells.size === 0 && this.#cells.get(path) === cells) this.#cells.delete(path);
    }
  }

  /** Notifies the watchers of the path and of its parent directory. */
  tell(path: string, isRemoved = false): void {
    for (const cell of this.#cells.get(path) ?? []) cell.notify();
    for (const cell of this.#cells.get(directoryOf(path)) ?? []) {
      if (isRemoved) cell.removed(nameOf(path));
      else cell.appeared(nameOf(path));
    }
  }

  /** Drops all watchers, because the process they belong to has ended. */
  clear(): void {
    this.#cells.clear();
  }
}
