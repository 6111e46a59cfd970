/** Waiting for the real world, with a limit and a sentence that says for what. */
export const pause = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));

/** Asks `done` again and again until it says yes. What it threw last is the cause when time runs out. */
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
