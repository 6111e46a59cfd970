import type { ApiObject } from "../../api/resource.ts";
import { raceAbort } from "../../concurrency/abort.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import type { KnownObject } from "../../domain/cluster-objects/references.ts";
import type { Clock } from "../../ports/clock.ts";

/** The Go kubelet waits this long for its cache. */
const WAIT_MS_MAX = 1_000;

/**
 * Waits briefly for objects that are still unknown; some may remain unknown afterwards. Rejects with the signal's
 * reason.
 */
export async function waitForObjects(
  keys: readonly string[],
  objects: ReadonlyTable<string, KnownObject<ApiObject>>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const isOpen = () => keys.some((key) => (objects.get(key)?.kind ?? "unknown") === "unknown");
  if (!isOpen()) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const unwatch = objects.watch(() => (isOpen() ? undefined : resolve()));
  const cancel = clock.after(WAIT_MS_MAX, resolve);
  try {
    await raceAbort(promise, signal);
  } finally {
    unwatch();
    cancel();
  }
}
