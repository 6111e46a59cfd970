/**
 * One worker per key. Invariants:
 *
 * 1. At most one turn per key runs at a time.
 * 2. A key woken during its turn gets one more turn after it: no wake is lost, and several wakes share one turn.
 * 3. An interrupted turn is followed by another turn.
 * 4. `drained` resolves only when no turn runs.
 *
 * A turn must not throw: it handles its own failures. A turn that throws is a bug and is reported to `onBug`.
 */
import { type LinkedSignal, linkSignals } from "./abort.ts";

interface Slot {
  dirty: boolean;
  running: LinkedSignal | undefined;
}

/** Observes waiting keys and turns. `woken` may be called again for a key that already waits. */
export interface TurnObserver<K> {
  woken(key: K): void;
  begun(key: K): void;
  ended(key: K): void;
  failed(): void;
}

export interface KeyedWorkerOptions<K> {
  /** `signal` aborts when the key is interrupted or the worker shuts down. */
  readonly turn: (key: K, signal: AbortSignal) => Promise<void>;
  readonly onBug: (key: K, error: unknown) => void;
  readonly shutdown: AbortSignal;
  readonly queue?: TurnObserver<K>;
}

/** The abort reason of a turn when something more urgent is known about its key. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  constructor() {
    super("interrupted by something more urgent");
  }
}

export class KeyedWorker<K> {
  readonly #options: KeyedWorkerOptions<K>;
  readonly #slots = new Map<K, Slot>();
  #onDrained: (() => void)[] = [];

  constructor(options: KeyedWorkerOptions<K>) {
    this.#options = options;
  }

  wake(key: K): void {
    if (this.#options.shutdown.aborted) return;
    this.#options.queue?.woken(key);
    const slot = this.#slots.get(key);
    if (slot !== undefined) {
      slot.dirty = true;
      return;
    }
    const fresh: Slot = { dirty: true, running: undefined };
    this.#slots.set(key, fresh);
    void this.#run(key, fresh);
  }

  /** Aborts the running turn, if any, and starts another. */
  interrupt(key: K): void {
    // Read before `wake`: a turn that `wake` starts must not be aborted.
    const running = this.#slots.get(key)?.running;
    this.wake(key);
    running?.abort(new Interrupted());
  }

  isBusy(key: K): boolean {
    return this.#slots.has(key);
  }

  drained(): Promise<void> {
    if (this.#slots.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained.push(resolve);
    });
  }

  async #run(key: K, slot: Slot): Promise<void> {
    const { turn, onBug, shutdown, queue } = this.#options;
    while (slot.dirty && !shutdown.aborted) {
      slot.dirty = false;
      queue?.begun(key);
      using linked = linkSignals(shutdown);
      slot.running = linked;
      try {
        await turn(key, linked.signal);
      } catch (error) {
        queue?.failed();
        onBug(key, error);
      }
      queue?.ended(key);
      slot.running = undefined;
    }
    this.#slots.delete(key);
    if (this.#slots.size === 0) for (const resolve of this.#onDrained.splice(0)) resolve();
  }
}
