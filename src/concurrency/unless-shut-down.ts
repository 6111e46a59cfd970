/** For loops whose waits reject at shutdown, which is not a failure. Returns undefined at shutdown. */
export async function unlessShutDown<T>(shutdown: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!shutdown.aborted) throw error;
    return undefined;
  }
}
