/**
 * Ends the agent when its memory exceeds a limit: the service manager restarts it, and pods stay as they are. Otherwise
 * the kernel would kill processes of pods first, since the agent's OOM score protects it. V8's own limit cannot be set
 * once the process runs, and a flag in the executable would apply to every command.
 */
import { sleep } from "../concurrency/sleep.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { AGENT_MEMORY_BYTES_MAX } from "./limits.ts";

const LOOK_EVERY_MS = 2_000;

export interface MemoryParts {
  readonly clock: Clock;
  readonly log: Log;
  /** On V8's heap and in external memory bound to it. */
  readonly usedBytes: () => number;
}

/** Resolves when the signal aborts, or after it has called `end` because too much memory is in use. */
export async function watchMemory(
  { clock, log, usedBytes }: MemoryParts,
  end: (error: Error) => void,
  shutdown: AbortSignal,
): Promise<void> {
  while (!shutdown.aborted) {
    const used = usedBytes();
    if (used > AGENT_MEMORY_BYTES_MAX) {
      const error = new Error(`the agent uses ${used} bytes of memory, more than ${AGENT_MEMORY_BYTES_MAX}`);
      log.error("Shutting down to be restarted; pods keep running", error);
      return end(error);
    }
    await sleep(clock, LOOK_EVERY_MS, shutdown).catch((error: unknown) => {
      if (!shutdown.aborted) throw error;
    });
  }
}
