/** For a loop that others wake: resolves when its end is asked for. */
export const untilAborted = (shutdown: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (shutdown.aborted) resolve();
    else shutdown.addEventListener("abort", () => resolve(), { once: true });
  });
