/**
 * A loop over keys: the turns of a `KeyedWorker`, timers that wake a key later, and watches that wake keys when a table
 * changes. When the loop ends, it stops the watches and timers and waits for running turns. No timer and no watcher
 * remains.
 */
import type { Clock } from "../ports/clock.ts";
import { KeyedWorker, type TurnObserver } from "./keyed-worker.ts";
import { TimerQueue } from "./timer-queue.ts";

export interface Turn {
  /** Aborts when the key is interrupted or the loop shuts down. */
  readonly signal: AbortSignal;
  /** Schedules another turn for the same key. */
  readonly wakeIn: (ms: number) => void;
}

export interface KeyedLoopOptions<K> {
  readonly clock: Clock;
  readonly turn: (key: K, turn: Turn) => Promise<void>;
  readonly onBug: (key: K, error: unknown) => void;
  /** A turn that threw is retried after this delay. Default: at the next wake. */
  readonly afterBugMs?: number;
  /** Default: wakes the key. */
  readonly onWakeup?: (key: K) => void;
  readonly shutdown: AbortSignal;
  readonly queue?: TurnObserver<K> | undefined;
}

interface Watched<W> {
  watch(changed: (key: W) => void): () => void;
}

export class KeyedLoop<K> {
  readonly #worker: KeyedWorker<K>;
  readonly #wakeups: TimerQueue<K>;
  readonly #unwatch: (() => void)[] = [];

  constructor({ clock, turn, onBug, afterBugMs, onWakeup, shutdown, queue }: KeyedLoopOptions<K>) {
    this.#wakeups = new TimerQueue<K>(clock, onWakeup ?? ((key) => this.wake(key)));
    this.#worker = new KeyedWorker<K>({
      turn: (key, signal) => turn(key, { signal, wakeIn: (ms) => this.#wakeups.wakeIn(key, ms) }),
      onBug: (key, error) => {
        onBug(key, error);
        if (afterBugMs !== undefined) this.#wakeups.wakeIn(key, afterBugMs);
      },
      shutdown,
      ...(queue && { queue }),
    });
  }

  wake(key: K): void {
    this.#worker.wake(key);
  }

  /** Aborts the running turn, if any, and starts another. */
  interrupt(key: K): void {
    this.#worker.interrupt(key);
  }

  isBusy(key: K): boolean {
    return this.#worker.isBusy(key);
  }

  /** Cancels the key's scheduled turn. */
  cancelWakeup(key: K): void {
    this.#wakeups.cancel(key);
  }

  watch<W>(table: Watched<W>, changed: (key: W) => void): void {
    this.#unwatch.push(table.watch(changed));
  }

  /** Runs until `work` ends, which is usually at shutdown. */
  async run(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } finally {
      for (const unwatch of this.#unwatch.splice(0)) unwatch();
      this.#wakeups.close();
      await this.#worker.drained();
    }
  }
}
