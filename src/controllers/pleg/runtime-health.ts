/** Asks the runtime every five seconds how it is, and leaves the answer in `runtimeHealth`, whose only writer it is. */
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import { sleep } from "../../concurrency/sleep.ts";
import type { RuntimeHealth } from "../../domain/node/runtime-health.ts";
import type { RuntimeVersion } from "../../domain/runtime/runtime-info.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Runtime } from "../../ports/runtime.ts";

export interface RuntimeHealthOptions {
  readonly runtime: Pick<Runtime, "status" | "version">;
  readonly clock: Clock;
  readonly log: Log;
  readonly runtimeHealth: LatestCell<RuntimeHealth>;
  /** When the runtime's pods were last listed, on the monotonic clock. */
  readonly lastListedMs: () => number | undefined;
}

const EVERY_MS = 5_000;
/** Until the first good answer and the first list: the node waits for both. */
const EAGER_MS = 200;
const LISTED_WITHIN_MS = 180_000;

export async function watchRuntimeHealth(options: RuntimeHealthOptions, shutdown: AbortSignal): Promise<void> {
  const { runtime, clock, log, runtimeHealth } = options;
  let version: RuntimeVersion | undefined;
  let lastReadyMs: number | undefined;
  while (!shutdown.aborted) {
    try {
      version ??= await runtime.version(shutdown);
      const status = await runtime.status({ verbose: false }, shutdown);
      const ready = status.conditions.some(({ type, status: good }) => type === "RuntimeReady" && good);
      if (ready) lastReadyMs = clock.monotonicMs();
      runtimeHealth.set({ kind: "answered", status, version, lastReadyMs, troubles: listTroubles(options) });
    } catch (error) {
      if (shutdown.aborted) return;
      // Another runtime may be there when it comes back.
      version = undefined;
      log.info(2, "the container runtime does not answer", { error: String(error) });
      // Written again all the same: how long ago the last good answer was is part of what readers see.
      runtimeHealth.set({ ...runtimeHealth.value, troubles: listTroubles(options) });
    }
    const waitsFor = lastReadyMs === undefined || options.lastListedMs() === undefined;
    await sleep(clock, waitsFor ? EAGER_MS : EVERY_MS, shutdown).catch(() => undefined);
  }
}

function listTroubles({ clock, lastListedMs }: RuntimeHealthOptions): readonly string[] {
  const last = lastListedMs();
  if (last === undefined) return ["PLEG is not healthy: pleg has yet to be successful"];
  const agoMs = clock.monotonicMs() - last;
  if (agoMs <= LISTED_WITHIN_MS) return [];
  return [`PLEG is not healthy: pleg was last seen active ${formatSeconds(agoMs)} ago; threshold is 3m0s`];
}

const formatSeconds = (ms: number) => `${Math.floor(ms / 60_000)}m${((ms % 60_000) / 1000).toFixed(3)}s`;
