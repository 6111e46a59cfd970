/**
 * Hints that a directory's entries changed, by inotify. The kernel watches a directory, not a path. When the path leads
 * to another directory, or to none, the watch is created again and the reader gets a hint. If the kernel refuses a
 * watch (its limit is reached), every check is a hint.
 */
import { type FSWatcher, watch } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { Notifier } from "../../concurrency/notifier.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DirectoryHint } from "../../ports/host-files.ts";
import { EntryEvents } from "./entry-events.ts";

export interface WatchPauses {
  /**
   * The pause between two checks whether the path still leads to the watched directory. The kernel reports the
   * directory's removal, but not a mount over it.
   */
  readonly watchedMs: number;
  readonly unwatchedMs: number;
}

export async function* watchDirectory(
  path: string,
  { clock, pauses, signal }: { readonly clock: Clock; readonly pauses: WatchPauses; readonly signal: AbortSignal },
): AsyncGenerator<DirectoryHint, void, void> {
  const changes = new Notifier();
  const watcher = new DirectoryWatcher({ path, clock, pauses, onChange: changes.notify });
  try {
    for (let seen = 0; ; ) {
      seen = await changes.changed(seen, signal);
      yield { recreated: await watcher.takeRecreated() };
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    watcher.close();
  }
}

interface DirectoryWatcherOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly pauses: WatchPauses;
  readonly onChange: () => void;
}

class DirectoryWatcher {
  readonly #options: DirectoryWatcherOptions;
  #watcher: FSWatcher | undefined;
  /** The watched directory; undefined for none. The initial "" matches neither, so that the first check is a hint. */
  #watched: string | undefined = "";
  #looking = false;
  #lookAgain = false;
  #closed = false;
  #cancelPause = () => {};
  readonly #entries = new EntryEvents();

  constructor(options: DirectoryWatcherOptions) {
    this.#options = options;
    void this.#look();
  }

  close(): void {
    this.#closed = true;
    this.#cancelPause();
    this.#watcher?.close();
  }

  async takeRecreated(): Promise<ReadonlySet<string>> {
    return this.#entries.takeRecreated(() => readdir(this.#options.path).catch(() => []));
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
    this.#entries.clear();
    this.#watcher = found === undefined ? undefined : this.#open();
    this.#watched = found;
    this.#options.onChange();
  }

  #open(): FSWatcher | undefined {
    try {
      const watcher = watch(this.#options.path, (event, name) => {
        if (event === "rename" && name !== null) this.#entries.add(name, this.#options.clock.monotonicMs());
        this.#options.onChange();
        if (event === "rename") void this.#look(); // The directory itself may have gone.
      });
      watcher.on("error", () => {
        if (this.#watcher === watcher) this.#watcher = undefined;
        watcher.close();
      });
      return watcher;
    } catch {
      return undefined; // Gone again, or the watch was refused: the next check tries again.
    }
  }
}

/** Undefined for any path that cannot be inspected: a missing directory is no failure of a watch. */
async function identity(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
