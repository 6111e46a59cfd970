/** The desired state of a pod UID, from all components that decide on it, and the resulting lifecycle. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { effectiveGraceSeconds } from "./grace.ts";
import { isStaticPod } from "./pod-identity.ts";
import type { PodLifecycle, TerminationCause } from "./pod-lifecycle.ts";

export type DesiredLifecycle =
  | { readonly kind: "run" }
  | { readonly kind: "end"; readonly why: TerminationCause; readonly graceOverrideSeconds?: number };

/** The grace period of a pod that no source has or that was force-deleted. */
const ORPHAN_SECONDS = 1;

/** The next lifecycle under this desired state; the same object if nothing changes. */
export function nextLifecycle(
  current: PodLifecycle,
  desired: DesiredLifecycle,
  pod: Pod | undefined,
  monotonicMs: number,
): PodLifecycle {
  if (desired.kind === "run") return current;
  switch (current.kind) {
    case "running":
      return {
        kind: "terminating",
        graceSeconds: graceSeconds(desired, pod, undefined),
        sinceMonotonicMs: monotonicMs,
        why: desired.why,
      };
    case "terminating": {
      const graceNow = graceSeconds(desired, pod, current.graceSeconds);
      // A shorter grace period runs from now, but ends no later than the previous one.
      if (graceNow >= current.graceSeconds) return current;
      const leftMs = current.sinceMonotonicMs + current.graceSeconds * 1000 - monotonicMs;
      if (leftMs <= graceNow * 1000) return current;
      return { ...current, graceSeconds: graceNow, sinceMonotonicMs: monotonicMs };
    }
    case "terminated":
    case "finished":
      return current;
  }
}

function graceSeconds(
  desired: Extract<DesiredLifecycle, { kind: "end" }>,
  pod: Pod | undefined,
  settled: number | undefined,
): number {
  if (pod === undefined || isForced(desired, pod)) return Math.min(settled ?? ORPHAN_SECONDS, ORPHAN_SECONDS);
  return effectiveGraceSeconds(pod, desired.graceOverrideSeconds, settled);
}

/**
 * A pod disappears from the API server without its node's confirmation only if it is force-deleted. A manifest may be
 * removed at any time.
 */
const isForced = ({ why }: Extract<DesiredLifecycle, { kind: "end" }>, pod: Pod): boolean =>
  why.kind === "removed" && !isStaticPod(pod);

/** Whether this change must interrupt work under way: a start, or a stop with a longer grace period. */
export const interrupts = (before: PodLifecycle, after: PodLifecycle): boolean =>
  (before.kind === "running" && after.kind === "terminating") ||
  (before.kind === "terminating" && after.kind === "terminating" && after.graceSeconds < before.graceSeconds);
