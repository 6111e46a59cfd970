/** The only source of time. Sleeps, tickers and deadlines all derive from `after`. */
export interface Clock {
  /** Calendar time: for timestamps that leave the process. May jump. */
  wallMs(): number;
  /** For measuring how long something took. Never goes back. */
  monotonicMs(): number;
  /**
   * Calls `fire` once after `delayMs`, however long that is; a delay that is not a number above zero fires at the next turn.
   * The returned function cancels it, once or twice.
   */
  after(delayMs: number, fire: () => void): () => void;
}
