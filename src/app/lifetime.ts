/**
 * Controls the life of this process. It ends on a signal, when it loses a lock that keeps other agents off its node, or
 * when a part of it fails. Pods stay as they are. If shutdown takes long, the log says what it waits for.
 */
import type { Log } from "../ports/log.ts";
import { hostClock } from "../wire/host/clock.ts";
import type { ProcessLock } from "../wire/host/process-lock.ts";

/** How long shutdown may take before the agent logs what it waits for. */
const SLOW_END_MS = 2_000;

export class Lifetime {
  readonly #log: Log;
  readonly #stop = new AbortController();
  readonly #locks: ProcessLock[] = [];
  #hasFailed = false;
  #step = "loops";
  #cancelSlowEnd = () => {};

  constructor(log: Log) {
    this.#log = log;
    this.signal.addEventListener("abort", () => {
      this.#cancelSlowEnd = hostClock.after(SLOW_END_MS, () => this.#logSlowEnd());
    });
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.once(signal, () => {
        log.info(0, "Shutting down; pods keep running", { signal });
        this.end(new Error(`ended by ${signal}`));
      });
    }
  }

  /** Aborts when the process must end. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get exitCode(): number {
    return this.#hasFailed ? 1 : 0;
  }

  end(reason: unknown): void {
    this.#stop.abort(reason);
  }

  fail(error: unknown): void {
    this.#hasFailed = true;
    this.end(error);
  }

  /** Holds the lock until `release`. Losing it is a failure, since another agent may take this node. */
  keep(lock: ProcessLock): void {
    this.#locks.push(lock);
    void lock.lost.then((error) => {
      if (this.signal.aborted) return;
      this.#log.error("Shutting down because another agent may take over this node; pods keep running", error);
      this.fail(error);
    });
  }

  /** Releases the locks, and waits for what still runs. */
  async release(step: string, stillRuns: () => Promise<unknown>): Promise<void> {
    for (const lock of this.#locks) lock.release();
    this.#step = step;
    await stillRuns();
    this.#cancelSlowEnd();
  }

  #logSlowEnd(): void {
    const counts = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), (kind) => kind));
    const resources = Object.fromEntries(counts.map(([kind, all]) => [kind, all?.length ?? 0]));
    this.#log.info(0, "Still shutting down", { waitsFor: this.#step, resources });
  }
}
