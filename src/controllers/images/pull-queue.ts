/**
 * Runs pulls in request order with limited parallelism. Requests with the same key share one call. A call without
 * waiters is canceled.
 */
import { errorText } from "../../base/error-text.ts";

export type PullOutcome<T> =
  | { readonly kind: "pulled"; readonly pulled: T }
  | { readonly kind: "failed"; readonly error: string };

export interface PullWaiter<T> {
  /** Position in the queue, counting from 1; 0 means that the pull has begun. */
  moved(position: number): void;
  /** Called once, after which no other call follows. All waiters of a shared call get the same object. */
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

  /**
   * `pull` is called only if the key is not queued or running. The returned function stops waiting; a second call does
   * nothing.
   */
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

  /** Cancels running pulls and resolves when they have ended. Waiters are not notified. */
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
    // The key is free from now on: a call that is being canceled must not be shared.
    this.#forget(flight);
    if (this.#running.has(flight)) {
      flight.end.abort(new Error("nobody waits for this pull any more"));
      return;
    }
    this.#waiting = this.#waiting.filter((other) => other !== flight);
    this.#reportPositions();
  }

  /** Starts waiting pulls up to the limit. */
  #advance(): void {
    const free = Math.max(0, this.#most - this.#running.size);
    const next = this.#waiting.slice(0, free);
    this.#waiting = this.#waiting.slice(free);
    for (const flight of next) {
      for (const waiter of flight.waiters) waiter.moved(0);
      this.#running.set(flight, this.#fly(flight));
    }
    this.#reportPositions();
  }

  #reportPositions(): void {
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
