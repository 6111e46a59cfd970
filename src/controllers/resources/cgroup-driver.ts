/**
 * Determines the cgroup driver. The runtime decides, because a kubelet and a runtime that disagree cannot start any
 * pod. The configured driver is used only if the runtime does not support the query.
 */

import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { waitForValue } from "../../concurrency/wait-for-value.ts";
import type { RuntimeHealth } from "../../domain/node/runtime-health.ts";
import type { CgroupDriver } from "../../domain/runtime/runtime-info.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { RuntimeSelf } from "../../ports/runtime.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";
import type { NodeCgroups } from "./resources.ts";

const TRIES = 3;
const RETRY_MS = 2000;

export type SettledDriver =
  | { readonly kind: "runtime"; readonly driver: CgroupDriver }
  /** The runtime is too old for the query: `kubelet_cri_losing_support` counts it. */
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
    // The runtime may still be starting.
    if (attempt < TRIES) await sleep(clock, RETRY_MS, shutdown);
  }
  return { kind: "noAnswer", error: last };
}

export interface CgroupDriverParts extends DriverParts {
  readonly cgroupsOf: (driver: CgroupDriver) => NodeCgroups;
  readonly configured: CgroupDriver;
  /** Pods have cgroups below the configured cgroup root. */
  readonly perQos: boolean;
  /** Called if the runtime is too old to report its cgroup driver. */
  readonly onConfigured: () => void;
  readonly runtimeHealth: Latest<RuntimeHealth>;
  readonly cgroups: LatestCell<NodeCgroups | undefined>;
}

const hasBeenReady = (health: RuntimeHealth): boolean => health.kind === "answered" && health.readiness !== "unseen";

/**
 * Begins the kubelet's second startup stage: the runtime has been ready once and reports which cgroup driver it uses.
 */
export async function learnCgroupDriver(parts: CgroupDriverParts, shutdown: AbortSignal): Promise<void> {
  const { log, cgroupsOf, configured, perQos, onConfigured, runtimeHealth, cgroups } = parts;
  await unlessShutDown(shutdown, async () => {
    await waitForValue(runtimeHealth, hasBeenReady, shutdown);
    for (;;) {
      const settled = await settleCgroupDriver(configured, parts, shutdown);
      if (settled.kind === "configured") onConfigured();
      if (settled.kind !== "noAnswer") {
        const found = cgroupsOf(settled.driver);
        if (perQos) await requireRoot(found.pods);
        cgroups.set(found);
        return;
      }
      // A runtime that was ready will respond again; until it reports its driver no pod cgroup can be created.
      log.error("Failed to get the cgroup driver from the runtime", settled.error);
    }
  });
}

/**
 * The configured cgroup root must exist: we do not create it. Rejects with the message of the Go kubelet, which then
 * refuses to start.
 */
export async function requireRoot(cgroups: Pick<Cgroups, "validationError">): Promise<void> {
  const validationError = await cgroups.validationError([]);
  if (validationError !== undefined)
    throw new Error(`failed to run Kubelet: invalid configuration: ${validationError}`);
}
