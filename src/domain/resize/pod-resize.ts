/** The state of a pod's resize, pending or granted, and the two conditions that report it. */
import type { Pod, PodCondition } from "../../api/gen/core-v1.ts";
import { apiTime } from "../../base/timestamp.ts";
import type { ResizeDecision } from "./decision.ts";

const PENDING = "PodResizePending";
const IN_PROGRESS = "PodResizeInProgress";

export interface PodResize {
  /** The pod with the resources that its spec requests. */
  readonly desired: Pod;
  /**
   * The spec generation granted last. Undefined: none since the pod's admission, or actuated before this process
   * started.
   */
  readonly allocatedGeneration?: number;
  readonly pending?: PendingResize;
}

export interface PendingResize {
  readonly reason: "Deferred" | "Infeasible";
  readonly message: string;
  readonly generation: number;
  readonly sinceWallMs: number;
}

/** A resize that was granted and is not actuated yet. */
export interface ResizeInProgress {
  readonly generation: number;
  /** Why the actuation failed; empty if there is no error. */
  readonly error: string;
}

export const generationOf = ({ metadata }: Pod): number => metadata?.generation ?? 0;

/**
 * The pending state after a decision; the same object if nothing changed. An accepted resize leaves nothing pending.
 */
export function pendingAfter(
  before: PendingResize | undefined,
  decision: Exclude<ResizeDecision, { kind: "accepted" | "unknown" }>,
  desired: Pod,
  wallMs: number,
): PendingResize {
  const reason = decision.kind === "infeasible" ? "Infeasible" : "Deferred";
  const message = decision.kind === "deferred" ? decision.message + decision.waitsFor : decision.message;
  const generation = generationOf(desired);
  const isSame = before?.reason === reason && before.message === message && before.generation === generation;
  if (before !== undefined && isSame) return before;
  const sinceWallMs = before?.reason === reason ? before.sinceWallMs : wallMs;
  return { reason, message, generation, sinceWallMs };
}

/** The pending state that an earlier kubelet process published. */
export function pendingBefore({ status }: Pod): PendingResize | undefined {
  const reported = (status?.conditions ?? []).find(({ type }) => type === PENDING);
  const { reason, message = "", observedGeneration: generation = 0, lastTransitionTime = "" } = reported ?? {};
  if (reason !== "Deferred" && reason !== "Infeasible") return undefined;
  const sinceWallMs = Date.parse(lastTransitionTime);
  return { reason, message, generation, sinceWallMs: Number.isNaN(sinceWallMs) ? 0 : sinceWallMs };
}

/** Whether to emit another event: not for every change of what the resize waits for. */
export const isNews = (before: PendingResize | undefined, now: PendingResize): boolean =>
  before?.reason !== now.reason || before.generation !== now.generation;

/** The conditions that Deckhand owns: a published one that does not apply now is Deckhand's own, and is removed. */
export const RESIZE_CONDITIONS: ReadonlySet<string> = new Set([PENDING, IN_PROGRESS]);

export function resizeConditions(
  pending: PendingResize | undefined,
  inProgress: ResizeInProgress | undefined,
  published: readonly PodCondition[],
  wallMs: number,
): readonly PodCondition[] {
  const made = (type: string, reason: string, message: string, observedGeneration: number, sinceWallMs: number) => {
    const before = published.find((condition) => condition.type === type && (condition.reason ?? "") === reason);
    const since = before?.lastTransitionTime ?? apiTime(sinceWallMs);
    return {
      type,
      status: "True",
      ...(reason === "" ? {} : { reason }),
      ...(message === "" ? {} : { message }),
      ...(observedGeneration === 0 ? {} : { observedGeneration }),
      lastProbeTime: before?.lastProbeTime ?? since,
      lastTransitionTime: since,
    };
  };
  const all: PodCondition[] = [];
  if (pending !== undefined) {
    all.push(made(PENDING, pending.reason, pending.message, pending.generation, pending.sinceWallMs));
  }
  if (inProgress !== undefined) {
    const { generation, error } = inProgress;
    all.push(made(IN_PROGRESS, error === "" ? "" : "Error", error, generation, wallMs));
  }
  return all;
}
