/** For a loop whose waits reject when the agent ends: that is its end and no failure. Undefined: the agent ends. */
export async function unlessShutDown<T>(shutdown: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!shutdown.aborted) throw error;
    return undefined;
  }
}
