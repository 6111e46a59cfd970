import type { ApiObject } from "../../api/resource.ts";
import type { ReadTable } from "../../concurrency/latest-table.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import type { KnownObject } from "../../domain/cluster-objects/known-object.ts";
import type { Clock } from "../../ports/clock.ts";

/** The Go kubelet waits this long for its cache. */
const HEARD_MS_MAX = 1_000;

/**
 * Waits briefly for objects that are still unknown; some may remain unknown afterwards. Rejects with the signal's
 * reason.
 */
export async function heardOf(
  keys: readonly string[],
  objects: ReadTable<string, KnownObject<ApiObject>>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const isOpen = () => keys.some((key) => (objects.get(key)?.kind ?? "unknown") === "unknown");
  if (!isOpen()) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const unwatch = objects.watch(() => (isOpen() ? undefined : resolve()));
  const cancel = clock.after(HEARD_MS_MAX, resolve);
  try {
    await unlessAborted(promise, signal);
  } finally {
    unwatch();
    cancel();
  }
}
