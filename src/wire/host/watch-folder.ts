/**
 * Hints that a folder's entries changed, by inotify. The kernel's watch is on one folder, not on a path: when another folder takes its place,
 * or none, the watch is made anew and the reader gets a hint. Where the kernel refuses a watch (its limit is reached), each look is a hint.
 */
import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { Clock } from "../../ports/clock.ts";

export interface WatchPauses {
  /** Between two looks whether the path still leads to the folder that is watched; its end is told by the kernel, a mount over it is not. */
  readonly watchedMs: number;
  readonly unwatchedMs: number;
}

export async function* watchFolder(
  path: string,
  { clock, pauses, signal }: { readonly clock: Clock; readonly pauses: WatchPauses; readonly signal: AbortSignal },
): AsyncGenerator<void, void, void> {
  const changes = new LatestCell<undefined>(undefined);
  const watcher = new FolderWatcher({ path, clock, pauses, onChange: () => changes.set(undefined) });
  try {
    for (let seen = 0; ; ) {
      seen = await changes.changed(seen, signal);
      yield;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    watcher.close();
  }
}

interface FolderWatcherOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly pauses: WatchPauses;
  readonly onChange: () => void;
}

class FolderWatcher {
  readonly #options: FolderWatcherOptions;
  #watcher: FSWatcher | undefined;
  /** The folder behind the watch, undefined for none; "" matches neither, so that the first look is a hint. */
  #watched: string | undefined = "";
  #looking = false;
  #lookAgain = false;
  #closed = false;
  #cancelPause = () => {};

  constructor(options: FolderWatcherOptions) {
    this.#options = options;
    void this.#look();
  }

  close(): void {
    this.#closed = true;
    this.#cancelPause();
    this.#watcher?.close();
  }

  async #look(): Promise<void> {
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = true;
    do {
      this.#lookAgain = false;
      const found = await identity(this.#options.path);
      if (this.#closed) return;
      this.#follow(found);
    } while (this.#lookAgain);
    this.#looking = false;
    const { clock, pauses } = this.#options;
    this.#cancelPause();
    this.#cancelPause = clock.after(
      this.#watcher === undefined ? pauses.unwatchedMs : pauses.watchedMs,
      () => void this.#look(),
    );
  }

  #follow(found: string | undefined): void {
    if (found === this.#watched && (found === undefined || this.#watcher !== undefined)) return;
    this.#watcher?.close();
    this.#watcher = found === undefined ? undefined : this.#open();
    this.#watched = found;
    this.#options.onChange();
  }

  #open(): FSWatcher | undefined {
    try {
      const watcher = watch(this.#options.path, (event) => {
        this.#options.onChange();
        if (event === "rename") void this.#look(); // It may be the folder itself that went.
      });
      watcher.on("error", () => {
        if (this.#watcher === watcher) this.#watcher = undefined;
        watcher.close();
      });
      return watcher;
    } catch {
      return undefined; // Gone again, or refused: the next look tries once more.
    }
  }
}

/** Undefined for whatever cannot be looked at: a vanished folder is no failure of a watch. */
async function identity(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
