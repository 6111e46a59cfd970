import type { Latest } from "./latest-cell.ts";

/**
 * Calls `act` after each change of the cell from now on, until the signal aborts. Changes that come together cause one
 * call.
 */
export async function onChange(cell: Latest<unknown>, act: () => void, shutdown: AbortSignal): Promise<void> {
  let seen = cell.version;
  while (!shutdown.aborted) {
    try {
      await cell.changed(seen, shutdown);
    } catch (error) {
      if (shutdown.aborted) return;
      throw error;
    }
    seen = cell.version;
    if (!shutdown.aborted) act();
  }
}
