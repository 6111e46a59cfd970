/** What is wanted of a UID, from all who have a say, and what that makes of its life. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { effectiveGraceSeconds } from "./grace.ts";
import { isStaticPod } from "./pod-identity.ts";
import type { PodLifecycle, TerminationCause } from "./pod-lifecycle.ts";

export type PodWish =
  | { readonly kind: "run" }
  | { readonly kind: "end"; readonly why: TerminationCause; readonly graceOverrideSeconds?: number };

/** A pod that no source knows, or that was deleted by force, gets this long. */
const ORPHAN_SECONDS = 1;

/** How its life goes on under this wish. The same value when nothing changes. */
export function nextLifecycle(
  current: PodLifecycle,
  wish: PodWish,
  pod: Pod | undefined,
  monotonicMs: number,
): PodLifecycle {
  if (wish.kind === "run") return current;
  switch (current.kind) {
    case "running":
      return {
        kind: "terminating",
        graceSeconds: graceSeconds(wish, pod, undefined),
        sinceMonotonicMs: monotonicMs,
        why: wish.why,
      };
    case "terminating": {
      const graceNow = graceSeconds(wish, pod, current.graceSeconds);
      // A shorter grace runs from now, but ends no later than the one before it.
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
  wish: Extract<PodWish, { kind: "end" }>,
  pod: Pod | undefined,
  settled: number | undefined,
): number {
  if (pod === undefined || isForced(wish, pod)) return Math.min(settled ?? ORPHAN_SECONDS, ORPHAN_SECONDS);
  return effectiveGraceSeconds(pod, wish.graceOverrideSeconds, settled);
}

/** The API server gives up a pod without its node's word only by force. A manifest may go at any time. */
const isForced = ({ why }: Extract<PodWish, { kind: "end" }>, pod: Pod): boolean =>
  why.kind === "removed" && !isStaticPod(pod);

/** Whether work that is under way must stop for this change: a start in flight, or a stop with a longer grace. */
export const interrupts = (before: PodLifecycle, after: PodLifecycle): boolean =>
  (before.kind === "running" && after.kind === "terminating") ||
  (before.kind === "terminating" && after.kind === "terminating" && after.graceSeconds < before.graceSeconds);
