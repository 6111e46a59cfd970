/** Lets every promise chain that can run, run. The one file of sim that may touch real timers. */

/** Resolves after one macrotask: by then every microtask queued before it, and all that those queued, have run. */
export const drain = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
