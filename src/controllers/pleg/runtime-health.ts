/**
 * Queries the runtime's status every five seconds and publishes it in `runtimeHealth`, as its only writer. The runtime
 * is down after half a minute without a ready status, even while a request is pending. Time during which this process
 * was suspended does not count.
 */

import type { LatestCell } from "../../concurrency/latest-cell.ts";
import type { Heartbeat } from "../../concurrency/loop-heartbeats.ts";
import { UnsuspendedClock } from "../../concurrency/unsuspended-clock.ts";
import { RUNTIME_DOWN_AFTER_MS, type RuntimeHealth } from "../../domain/node/runtime-health.ts";
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
  readonly heartbeat: Pick<Heartbeat, "beat">;
}

const EVERY_MS = 5_000;
/** The interval until the first ready status and the first full list: the node waits for both. */
const EAGER_MS = 200;
const LISTED_WITHIN_MS = 180_000;

export async function watchRuntimeHealth(options: RuntimeHealthOptions, shutdown: AbortSignal): Promise<void> {
  const { clock, log } = options;
  const time = new UnsuspendedClock(clock);
  const watch = new HealthWatch(options, time);
  while (!shutdown.aborted) {
    options.heartbeat.beat();
    const stopJudging = time.every(EVERY_MS, () => watch.judge());
    try {
      await watch.ask(shutdown);
    } catch (error) {
      if (shutdown.aborted) return;
      log.info(2, "The container runtime did not respond", { error: String(error) });
    } finally {
      stopJudging();
    }
    watch.judge();
    await time.sleep(watch.isSettled ? EVERY_MS : EAGER_MS, shutdown).catch(() => undefined);
  }
}

class HealthWatch {
  readonly #options: RuntimeHealthOptions;
  readonly #time: UnsuspendedClock;
  #version: RuntimeVersion | undefined;
  #health: RuntimeHealth;
  /** On the `UnsuspendedClock`, like `unsuspendedMs` below. */
  #lastReadyMs: number | undefined;
  #listed: { readonly monotonicMs: number; readonly unsuspendedMs: number } | undefined;

  constructor(options: RuntimeHealthOptions, time: UnsuspendedClock) {
    this.#options = options;
    this.#time = time;
    this.#health = options.runtimeHealth.value;
  }

  /** Whether everything that the node waits for has arrived once. */
  get isSettled(): boolean {
    return this.#lastReadyMs !== undefined && this.#options.lastListedMs() !== undefined;
  }

  async ask(signal: AbortSignal): Promise<void> {
    const { runtime } = this.#options;
    try {
      this.#version ??= await runtime.version(signal);
      const status = await runtime.status({ verbose: false }, signal);
      const ready = status.conditions.some(({ type, status: good }) => type === "RuntimeReady" && good);
      if (ready) this.#lastReadyMs = this.#time.nowMs();
      this.#health = { kind: "answered", status, version: this.#version, readiness: this.#readiness(), troubles: [] };
    } catch (error) {
      // A different runtime version may be running when the runtime responds again.
      this.#version = undefined;
      throw error;
    }
  }

  judge(): void {
    const troubles = this.#listTroubles();
    const health = this.#health;
    const { runtimeHealth } = this.#options;
    if (health.kind === "unknown") runtimeHealth.set({ ...health, troubles });
    else runtimeHealth.set({ ...health, readiness: this.#readiness(), troubles });
  }

  #readiness(): "unseen" | "ready" | "down" {
    if (this.#lastReadyMs === undefined) return "unseen";
    return this.#time.nowMs() - this.#lastReadyMs >= RUNTIME_DOWN_AFTER_MS ? "down" : "ready";
  }

  #listTroubles(): readonly string[] {
    const { clock, lastListedMs } = this.#options;
    const monotonicMs = lastListedMs();
    if (monotonicMs === undefined) return ["PLEG is not healthy: pleg has yet to be successful"];
    if (this.#listed?.monotonicMs !== monotonicMs) {
      this.#listed = { monotonicMs, unsuspendedMs: this.#time.nowMs() - (clock.monotonicMs() - monotonicMs) };
    }
    const agoMs = this.#time.nowMs() - this.#listed.unsuspendedMs;
    if (agoMs <= LISTED_WITHIN_MS) return [];
    return [`PLEG is not healthy: pleg was last seen active ${formatSeconds(agoMs)} ago; threshold is 3m0s`];
  }
}

const formatSeconds = (ms: number) => `${Math.floor(ms / 60_000)}m${((ms % 60_000) / 1000).toFixed(3)}s`;
