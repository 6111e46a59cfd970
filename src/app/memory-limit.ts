/**
 * Ends the agent when its memory passes a limit: its service manager starts it again and pods stay as they are. Without it the kernel would
 * look for memory first among the pods, since the agent's OOM score protects it. V8's own limit cannot be set once the process runs, and a
 * flag in the executable would hold for every command.
 */
import { sleep } from "../concurrency/sleep.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { AGENT_MEMORY_BYTES_MAX } from "./limits.ts";

const LOOK_EVERY_MS = 2_000;

export interface MemoryParts {
  readonly clock: Clock;
  readonly log: Log;
  /** On the engine's heap and bound to it. */
  readonly usedBytes: () => number;
}

/** Resolves with the signal, or as soon as too much is in use: then `end` was called. */
export async function watchMemory(
  { clock, log, usedBytes }: MemoryParts,
  end: (error: Error) => void,
  shutdown: AbortSignal,
): Promise<void> {
  while (!shutdown.aborted) {
    const used = usedBytes();
    if (used > AGENT_MEMORY_BYTES_MAX) {
      const error = new Error(`the agent uses ${used} bytes of memory, more than ${AGENT_MEMORY_BYTES_MAX}`);
      log.error("Shutting down to be restarted; pods stay as they are", error);
      return end(error);
    }
    await sleep(clock, LOOK_EVERY_MS, shutdown).catch((error: unknown) => {
      if (!shutdown.aborted) throw error;
    });
  }
}
