/**
 * Which driver makes the groups: the runtime is asked, since a kubelet and a runtime that disagree can start no pod. What the
 * configuration says counts only where the runtime leaves it open.
 */
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { unlessShutDown } from "../../concurrency/unless-shut-down.ts";
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

export interface CgroupDriverParts extends DriverParts {
  readonly cgroupsOf: (driver: CgroupDriver) => NodeCgroups;
  readonly configured: CgroupDriver;
  /** Pods have cgroups below the root that the operator names. */
  readonly perQos: boolean;
  /** The runtime is too old to say which driver it uses. */
  readonly onConfigured: () => void;
  readonly runtimeHealth: Latest<RuntimeHealth>;
  readonly cgroups: LatestCell<NodeCgroups | undefined>;
}

const hasBeenReady = (health: RuntimeHealth): boolean => health.kind === "answered" && health.readiness !== "unseen";

/** The agent's second stage begins here: the runtime has been ready once and says which cgroup driver it uses. */
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
      // A runtime that was ready and does not answer now will come back; until it names its driver no pod can be placed.
      log.error("Failed to get the cgroup driver from the runtime", settled.error);
    }
  });
}

/** What the operator says all groups are below must be there: it is not ours to make. Rejects as the Go kubelet refuses to start. */
export async function requireRoot(cgroups: Pick<Cgroups, "flaw">): Promise<void> {
  const flaw = await cgroups.flaw([]);
  if (flaw !== undefined) throw new Error(`failed to run Kubelet: invalid configuration: ${flaw}`);
}
