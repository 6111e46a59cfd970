/** The only source of time. Sleeps, tickers and deadlines all use `after`. */
export interface Clock {
  /** Wall-clock time, for timestamps that leave the process. It may jump. */
  wallMs(): number;
  /** For measuring durations. It never goes backwards. */
  monotonicMs(): number;
  /**
   * Calls `fire` once after `delayMs`, however long that is. A delay that is not a positive number fires in the next
   * turn of the event loop. The returned function cancels the timer; a second call has no effect.
   */
  after(delayMs: number, fire: () => void): () => void;
}
