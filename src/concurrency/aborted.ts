/** For loops that others wake: resolves at shutdown. */
export const aborted = (shutdown: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (shutdown.aborted) resolve();
    else shutdown.addEventListener("abort", () => resolve(), { once: true });
  });
