/** What the kernel says of itself, as `dmesg` shows it. */
export interface KernelMessage {
  /** Grows by one with each message, from 0 at the machine's start. */
  readonly sequence: number;
  readonly text: string;
}

export interface KernelMessages {
  /** Rejects where this process may not read them. */
  requireReadable(): Promise<void>;
  /**
   * From the oldest that the kernel still has, then as they come, until the signal aborts. What the kernel overwrote before it was read is missing.
   * Rejects when they can no longer be read; the reader may follow anew and meets those again that the kernel still has.
   */
  follow(signal: AbortSignal): AsyncIterable<KernelMessage>;
}
