/** The kernel log, as `dmesg` shows it. */
export interface KernelMessage {
  /** Starts at 0 at boot and grows by one with each message. */
  readonly sequence: number;
  readonly text: string;
}

export interface KernelMessages {
  /** Rejects if this process may not read the kernel log. */
  requireReadable(): Promise<void>;
  /**
   * Yields messages from the oldest one the kernel still has, then new ones, until the signal aborts. Messages that the
   * kernel overwrote before they were read are missing. Rejects when the log becomes unreadable. A reader that follows
   * again receives the retained messages again.
   */
  follow(signal: AbortSignal): AsyncIterable<KernelMessage>;
}
