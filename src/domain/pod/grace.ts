/** How long a pod, and each of its containers, may take to end. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { probeOf } from "../probes/probe-spec.ts";
import { containerNamed } from "./every-container.ts";

const POD_SECONDS_MIN = 1;
/** What the runtime is given at the least, so that a process can handle its signal. */
const CONTAINER_SECONDS_MIN = 2;
const DEFAULT_SECONDS = 30;

/**
 * The pod's grace under a new request: what its deletion says, else what the requester says, else what its spec says, and never more
 * than was settled before.
 */
export function effectiveGraceSeconds(pod: Pod, override: number | undefined, settled: number | undefined): number {
  const asked =
    pod.metadata?.deletionGracePeriodSeconds ?? override ?? pod.spec?.terminationGracePeriodSeconds ?? DEFAULT_SECONDS;
  const bounded = Math.max(POD_SECONDS_MIN, override === undefined ? asked : Math.min(asked, override));
  return settled === undefined ? bounded : Math.min(settled, bounded);
}

/** What a container has that is stopped for a probe, where that probe says so; the pod's deletion goes before it. */
export function probeGraceSeconds(pod: Pod, name: string, kind: "liveness" | "startup"): number | undefined {
  if (pod.metadata?.deletionGracePeriodSeconds !== undefined) return undefined;
  const container = containerNamed(pod.spec, name)?.container;
  return container === undefined ? undefined : probeOf(container, kind)?.terminationGracePeriodSeconds;
}

/** What is left for one container, in whole seconds as the runtime takes them. */
export const containerGraceSeconds = (leftMs: number): number =>
  Math.max(CONTAINER_SECONDS_MIN, Math.ceil(leftMs / 1000));
