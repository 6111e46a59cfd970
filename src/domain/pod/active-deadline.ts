/** The time a pod has left until its activeDeadlineSeconds, counted from its published start time. */
import type { AdmittedPod } from "./admitted-pod.ts";

export const DEADLINE_EXCEEDED = {
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
} as const;

/** Undefined: the pod has no deadline. */
export function deadlineLeftMs({ pod, firstSeenWallMs }: AdmittedPod, wallMs: number): number | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  if (seconds === undefined) return undefined;
  const published = Date.parse(pod.status?.startTime ?? "");
  const startedWallMs = Number.isNaN(published) ? firstSeenWallMs : published;
  return Math.max(0, startedWallMs + seconds * 1000 - wallMs);
}
