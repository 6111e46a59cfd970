/**
 * Detects whether the other end of a connection is still alive. A half-open connection looks healthy for minutes, so a
 * ping is sent after `everyMs` of silence, and an unanswered ping ends the connection after `limitMs`. Anything that
 * arrives counts as a sign of life. A dead connection goes unnoticed for at most the sum of both.
 */
import type { Clock } from "../../ports/clock.ts";

export interface HeartbeatOptions {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly limitMs: number;
  /** Sends a ping and calls back when it is answered. */
  readonly ping: (answered: () => void) => void;
  readonly onDead: (silentMs: number) => void;
}

/** A timer that fires this late means that our own process stalled: the answer may be waiting unread. */
const STALL_MS = 1000;

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #lastHeardMs: number;
  #waiting = false;
  #doubted = false;
  #stopped = false;
  #cancelTimer: () => void = () => {};

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#lastHeardMs = options.clock.monotonicMs();
    this.#arm(options.everyMs, () => this.#look());
  }

  /** True from `doubt` until something arrives. */
  get doubted(): boolean {
    return this.#doubted;
  }

  heard(): void {
    this.#lastHeardMs = this.#options.clock.monotonicMs();
    this.#doubted = false;
  }

  /** A request timed out: send a ping now instead of at the next turn. */
  doubt(): void {
    if (this.#stopped) return;
    this.#doubted = true;
    if (!this.#waiting) this.#send();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer();
  }

  #look(): void {
    const quietMs = this.#options.clock.monotonicMs() - this.#lastHeardMs;
    if (quietMs >= this.#options.everyMs) this.#send();
    else this.#arm(this.#options.everyMs - quietMs, () => this.#look());
  }

  #send(): void {
    const { clock, limitMs, ping } = this.#options;
    this.#waiting = true;
    const sentAtMs = clock.monotonicMs();
    this.#arm(limitMs, () => this.#judge(sentAtMs, sentAtMs + limitMs));
    ping(() => {
      if (this.#stopped) return;
      this.#waiting = false;
      this.heard();
      this.#arm(this.#options.everyMs, () => this.#look());
    });
  }

  #judge(sentAtMs: number, dueAtMs: number): void {
    const { clock, limitMs, onDead } = this.#options;
    const nowMs = clock.monotonicMs();
    const silentMs = nowMs - Math.max(this.#lastHeardMs, sentAtMs);
    const stalled = nowMs - dueAtMs > STALL_MS;
    if (silentMs >= limitMs && !stalled) {
      this.stop();
      onDead(silentMs);
      return;
    }
    const againMs = stalled ? limitMs : limitMs - silentMs;
    this.#arm(againMs, () => this.#judge(sentAtMs, nowMs + againMs));
  }

  #arm(delayMs: number, fire: () => void): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.after(delayMs, fire);
  }
}
