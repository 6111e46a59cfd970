/**
 * Tells a person at a terminal what a command waits for. A command that ends within two seconds shows nothing, and a
 * script that keeps standard error finds only errors there.
 */
import type { CommandIo } from "./io.ts";

const FIRST_MS = 2_000;
const EVERY_MS = 10_000;

export async function withProgress<T>(
  io: Pick<CommandIo, "clock" | "isInteractive" | "stderr">,
  activity: string,
  run: () => T | Promise<T>,
): Promise<T> {
  if (!io.isInteractive) return run();
  const { clock } = io;
  const beginMs = clock.monotonicMs();
  const show = () => {
    io.stderr(`${activity} (${Math.round((clock.monotonicMs() - beginMs) / 1000)} s)\n`);
    cancel = clock.after(EVERY_MS, show);
  };
  let cancel = clock.after(FIRST_MS, show);
  try {
    return await run();
  } finally {
    cancel();
  }
}
