import type { Latest } from "./latest-cell.ts";

/** Calls `act` after each change of the cell from now on, until the signal aborts; changes that come together are one. */
export async function whenever(cell: Latest<unknown>, act: () => void, shutdown: AbortSignal): Promise<void> {
  let seen = cell.version;
  while (!shutdown.aborted) {
    seen = await cell.changed(seen, shutdown).catch(() => seen); // Rejects only when the signal aborts.
    if (!shutdown.aborted) act();
  }
}
