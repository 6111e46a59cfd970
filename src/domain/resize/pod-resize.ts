/** Where a pod's resize stands: what it waits for, or what was granted; and the two conditions that tell of it. */
import type { Pod, PodCondition } from "../../api/gen/core-v1.ts";
import { apiTime } from "../../base/timestamp.ts";
import type { ResizeDecision } from "./decision.ts";

const PENDING = "PodResizePending";
const IN_PROGRESS = "PodResizeInProgress";

export interface PodResize {
  /** With what its spec wants. */
  readonly desired: Pod;
  /** The generation of the spec that was granted last; undefined: none since it was taken in, or it was carried out before our time. */
  readonly granted?: number;
  readonly pending?: PendingResize;
}

export interface PendingResize {
  readonly reason: "Deferred" | "Infeasible";
  readonly message: string;
  readonly generation: number;
  readonly sinceWallMs: number;
}

/** What was granted and is not carried out yet. */
export interface ResizeInProgress {
  readonly generation: number;
  /** Why it could not be carried out; empty while nothing speaks against it. */
  readonly error: string;
}

export const generationOf = ({ metadata }: Pod): number => metadata?.generation ?? 0;

/** How it waits from now on; the same object where nothing has changed. A decision that grants leaves nothing to wait for. */
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

/** What an agent before us said of it. */
export function pendingBefore({ status }: Pod): PendingResize | undefined {
  const told = (status?.conditions ?? []).find(({ type }) => type === PENDING);
  const { reason, message = "", observedGeneration: generation = 0, lastTransitionTime = "" } = told ?? {};
  if (reason !== "Deferred" && reason !== "Infeasible") return undefined;
  const sinceWallMs = Date.parse(lastTransitionTime);
  return { reason, message, generation, sinceWallMs: Number.isNaN(sinceWallMs) ? 0 : sinceWallMs };
}

/** Whether people hear of it again: not of every change of what it waits for. */
export const isNews = (before: PendingResize | undefined, now: PendingResize): boolean =>
  before?.reason !== now.reason || before.generation !== now.generation;

/** Ours: what is not said of a pod now was said of it once. */
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
