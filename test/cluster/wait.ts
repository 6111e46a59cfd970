/** Waits for real conditions, with a limit and a description for the error message. */
export const pause = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));

/** Calls `done` repeatedly until it returns true. On timeout the error's cause is what the last call threw. */
export async function waitUntil(
  what: string,
  limitMs: number,
  done: () => Promise<boolean>,
  everyMs = 50,
): Promise<void> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    let trouble: unknown;
    try {
      if (await done()) return;
    } catch (error) {
      trouble = error;
    }
    if (performance.now() > endMs) {
      throw new Error(`waited ${limitMs} ms in vain for ${what}`, trouble === undefined ? {} : { cause: trouble });
    }
    await pause(everyMs);
  }
}
