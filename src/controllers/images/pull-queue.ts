/**
 * Pulls in the order they were asked for, so many at once and no more. Who asks for what another waits for shares its call; a call that
 * nobody waits for any more is cut short.
 */
import { errorText } from "../../base/error-text.ts";

export type PullOutcome<T> =
  | { readonly kind: "pulled"; readonly pulled: T }
  | { readonly kind: "failed"; readonly error: string };

export interface PullWaiter<T> {
  /** How many are to begin before it, itself counted; 0: it has begun. */
  moved(position: number): void;
  /** Once, and nothing after. All who share the call get the same object. */
  settled(outcome: PullOutcome<T>): void;
}

interface Flight<T> {
  readonly key: string;
  readonly pull: (signal: AbortSignal) => Promise<PullOutcome<T>>;
  readonly waiters: Set<PullWaiter<T>>;
  readonly end: AbortController;
}

export class PullQueue<T> {
  readonly #most: number;
  readonly #flights = new Map<string, Flight<T>>();
  readonly #running = new Map<Flight<T>, Promise<void>>();
  #waiting: readonly Flight<T>[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** `pull` is called only if nobody waits for the same key. The returned function gives up, once or twice. */
  join(key: string, pull: Flight<T>["pull"], waiter: PullWaiter<T>): () => void {
    const known = this.#flights.get(key);
    const flight = known ?? { key, pull, waiters: new Set(), end: new AbortController() };
    flight.waiters.add(waiter);
    if (known === undefined) {
      this.#flights.set(key, flight);
      this.#waiting = [...this.#waiting, flight];
      this.#advance();
    } else {
      waiter.moved(this.#waiting.indexOf(flight) + 1);
    }
    return () => this.#leave(flight, waiter);
  }

  /** Cuts short what is under way, and resolves when it is over. Nobody is told. */
  async close(): Promise<void> {
    for (const flight of this.#flights.values()) {
      flight.waiters.clear();
      flight.end.abort(new Error("shutting down"));
    }
    this.#flights.clear();
    this.#waiting = [];
    await Promise.all(this.#running.values());
  }

  #leave(flight: Flight<T>, waiter: PullWaiter<T>): void {
    if (!flight.waiters.delete(waiter) || flight.waiters.size > 0) return;
    // From now on the key is free: what is being cut short must not be shared.
    this.#forget(flight);
    if (this.#running.has(flight)) {
      flight.end.abort(new Error("nobody waits for this pull any more"));
      return;
    }
    this.#waiting = this.#waiting.filter((other) => other !== flight);
    this.#tellPositions();
  }

  /** Lets begin what may. */
  #advance(): void {
    const free = Math.max(0, this.#most - this.#running.size);
    const next = this.#waiting.slice(0, free);
    this.#waiting = this.#waiting.slice(free);
    for (const flight of next) {
      for (const waiter of flight.waiters) waiter.moved(0);
      this.#running.set(flight, this.#fly(flight));
    }
    this.#tellPositions();
  }

  #tellPositions(): void {
    for (const [index, { waiters }] of this.#waiting.entries()) {
      for (const waiter of waiters) waiter.moved(index + 1);
    }
  }

  async #fly(flight: Flight<T>): Promise<void> {
    const outcome = await flight
      .pull(flight.end.signal)
      .catch((error: unknown): PullOutcome<T> => ({ kind: "failed", error: errorText(error) }));
    this.#running.delete(flight);
    this.#forget(flight);
    const waiters = [...flight.waiters];
    flight.waiters.clear();
    for (const waiter of waiters) waiter.settled(outcome);
    this.#advance();
  }

  #forget(flight: Flight<T>): void {
    if (this.#flights.get(flight.key) === flight) this.#flights.delete(flight.key);
  }
}
