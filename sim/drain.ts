/** Runs every promise chain that can run. This is the only file of sim that may use real timers. */

/**
 * Resolves after one macrotask. By then every microtask queued before it has run, and every microtask that those
 * queued.
 */
export const drain = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
