/** Grace periods of a pod and of each of its containers. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { probeOf } from "../probes/probe-spec.ts";
import { containerNamed } from "./containers.ts";

const POD_SECONDS_MIN = 1;
/** The minimum grace period given to the runtime, so that a process can handle its signal. */
const CONTAINER_SECONDS_MIN = 2;
const DEFAULT_SECONDS = 30;

/**
 * The pod's grace period under a new request: from its deletion, else from the requester, else from its spec. It never
 * exceeds the requester's period, nor the period settled before.
 */
export function effectiveGraceSeconds(pod: Pod, override: number | undefined, settled: number | undefined): number {
  const asked =
    pod.metadata?.deletionGracePeriodSeconds ?? override ?? pod.spec?.terminationGracePeriodSeconds ?? DEFAULT_SECONDS;
  const bounded = Math.max(POD_SECONDS_MIN, override === undefined ? asked : Math.min(asked, override));
  return settled === undefined ? bounded : Math.min(settled, bounded);
}

/**
 * The grace period of a container that is stopped for a failed probe, if that probe sets one. The pod's deletion takes
 * precedence.
 */
export function probeGraceSeconds(pod: Pod, name: string, kind: "liveness" | "startup"): number | undefined {
  if (pod.metadata?.deletionGracePeriodSeconds !== undefined) return undefined;
  const container = containerNamed(pod.spec, name)?.container;
  return container === undefined ? undefined : probeOf(container, kind)?.terminationGracePeriodSeconds;
}

/** The time left for one container, in whole seconds as the runtime expects. */
export const containerGraceSeconds = (leftMs: number): number =>
  Math.max(CONTAINER_SECONDS_MIN, Math.ceil(leftMs / 1000));
