/**
 * Which driver makes the groups: the runtime is asked, since a kubelet and a runtime that disagree can start no pod. What the
 * configuration says counts only where the runtime leaves it open.
 */
import { sleep } from "../../concurrency/sleep.ts";
import type { CgroupDriver } from "../../domain/runtime/runtime-info.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { RuntimeSelf } from "../../ports/runtime.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";

const TRIES = 3;
const RETRY_MS = 2000;

export type SettledDriver =
  | { readonly kind: "runtime"; readonly driver: CgroupDriver }
  /** The runtime is older than the question: `kubelet_cri_losing_support` counts it. */
  | { readonly kind: "configured"; readonly driver: CgroupDriver }
  | { readonly kind: "noAnswer"; readonly error: unknown };

export interface DriverParts {
  readonly runtime: Pick<RuntimeSelf, "cgroupDriver">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Rejects only with the signal's reason. */
export async function settleCgroupDriver(
  configured: CgroupDriver,
  { runtime, clock, log }: DriverParts,
  shutdown: AbortSignal,
): Promise<SettledDriver> {
  let last: unknown;
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    try {
      const driver = await runtime.cgroupDriver(shutdown);
      log.info(0, "Using cgroup driver setting received from the CRI runtime", { cgroupDriver: driver });
      return { kind: "runtime", driver };
    } catch (error) {
      shutdown.throwIfAborted();
      if (isRuntimeError(error, "unimplemented")) {
        const advice = "CRI implementation should be updated to support RuntimeConfig.";
        log.info(0, `${advice} Falling back to using cgroupDriver from kubelet config.`);
        return { kind: "configured", driver: configured };
      }
      last = error;
    }
    // It may only just be starting.
    if (attempt < TRIES) await sleep(clock, RETRY_MS, shutdown);
  }
  return { kind: "noAnswer", error: last };
}

/** What the operator says all groups are below must be there: it is not ours to make. Rejects as the Go kubelet refuses to start. */
export async function requireRoot(cgroups: Pick<Cgroups, "flaw">): Promise<void> {
  const flaw = await cgroups.flaw([]);
  if (flaw !== undefined) throw new Error(`failed to run Kubelet: invalid configuration: ${flaw}`);
}
