/** When a pod has started, for service-level indicators of that time, and how much of the time was not the node's. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { isTerminal } from "../pod-status/phase.ts";

/** The API server reports each container as started and running, so that every client can have seen it. */
export const isSeenStarted = ({ status }: Pod): boolean => {
  const statuses = status?.containerStatuses ?? [];
  return statuses.length > 0 && statuses.every(({ state }) => state?.running?.startedAt !== undefined);
};

/** Only pods count that nothing keeps from running, and that no kubelet has begun to start before. */
export const isStartAwaited = ({ status }: Pod): boolean =>
  status?.startTime === undefined && !isTerminal(status?.phase) && !isUnschedulable(status?.conditions ?? []);

const isUnschedulable = (conditions: readonly { readonly type: string; readonly status: string }[]): boolean =>
  conditions.some(({ type, status }) => type === "PodScheduled" && status === "False");

/** How long the init containers took. */
const initMs = ({ status }: Pod): number =>
  (status?.initContainerStatuses ?? []).reduce((sum, { state }) => {
    const { startedAt, finishedAt } = state?.terminated ?? {};
    const tookMs =
      startedAt === undefined || finishedAt === undefined ? 0 : Date.parse(finishedAt) - Date.parse(startedAt);
    return sum + Math.max(0, tookMs);
  }, 0);

/** A pod that mounts other volumes waits for other systems and is no measure of the node. */
const isStateful = ({ spec }: Pod): boolean =>
  (spec?.volumes ?? []).some(({ secret, configMap, downwardAPI, emptyDir, projected }) =>
    [secret, configMap, downwardAPI, emptyDir, projected].every((source) => source === undefined),
  );

export interface PodStartTimes {
  readonly totalMs: number;
  /** Undefined: not counted. */
  readonly sliMs: number | undefined;
}

export function podStartTimes(pod: Pod, seenWallMs: number, pullMs: number): PodStartTimes {
  const totalMs = Math.max(0, seenWallMs - Date.parse(pod.metadata?.creationTimestamp ?? ""));
  return { totalMs, sliMs: isStateful(pod) ? undefined : Math.max(0, totalMs - pullMs - initMs(pod)) };
}

/** The time in which at least one of several overlapping operations was in progress. */
export class SharedTime {
  #underWay = 0;
  #sinceMs = 0;
  #totalMs = 0;

  begin(nowMs: number): void {
    if (this.#underWay === 0) this.#sinceMs = nowMs;
    this.#underWay += 1;
  }

  end(nowMs: number): void {
    if (this.#underWay === 0) return;
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#totalMs += nowMs - this.#sinceMs;
  }

  get totalMs(): number {
    return this.#totalMs;
  }
}
