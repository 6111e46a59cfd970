/**
 * Computes the pod status to publish from the runtime's state, the pod's lifecycle and the previously published status.
 * The previous status is the node's memory across restarts. Fields that others own pass through unchanged.
 */

import type { Pod, PodCondition, PodStatus } from "../../api/gen/core-v1.ts";
import { apiTime } from "../../base/timestamp.ts";
import { type Deferral, type Rejection, WAITING_FOR } from "../admission/verdict.ts";
import type { BlockedTermination } from "../pod/ending.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import { hasEnded } from "../pod/pod-lifecycle.ts";
import type { PodRuntimeView } from "../pod/runtime-view.ts";
import { podActual } from "../resize/actual-resources.ts";
import {
  type PendingResize,
  RESIZE_CONDITIONS,
  type ResizeInProgress,
  resizeConditions,
} from "../resize/pod-resize.ts";
import type { CgroupValues } from "../resources/cgroup-values.ts";
import { podAddresses } from "./addresses.ts";
import { mergeConditions, ownedConditions, TERMINATION_BLOCKED } from "./conditions.ts";
import type { ContainerStatusInputs } from "./container-status.ts";
import { type ContainerStatuses, containerStatuses, finalStatuses, statusLists } from "./container-statuses.ts";
import { disruptionBy } from "./disruption.ts";
import { isTerminal, type Phase, podPhase } from "./phase.ts";

export interface PodStatusInputs extends Omit<ContainerStatusInputs, "pod" | "view"> {
  readonly pod: Pod;
  readonly view: PodRuntimeView;
  readonly lifecycle: PodLifecycle;
  /** The status that the API server has now. */
  readonly previous: PodStatus;
  readonly qosClass: string;
  readonly hostIps: readonly string[];
  /** When this node first observed the pod. */
  readonly firstSeenWallMs: number;
  readonly wallMs: number;
  /** What blocks the pod's termination, if anything. Undefined: nothing new is known. */
  readonly blockedTermination?: BlockedTermination | undefined;
  /** A resize that waits, and a resize that was granted and is not actuated yet. */
  readonly pendingResize?: PendingResize | undefined;
  readonly resize?: ResizeInProgress | undefined;
  /** The values in effect on the pod's cgroup. */
  readonly group?: CgroupValues | undefined;
  /** A static pod's phase is not forced to a terminal one: its manifest may still want it to run. */
  readonly isStatic: boolean;
}

export function podStatus(inputs: PodStatusInputs): PodStatus {
  const { pod, lifecycle, previous, wallMs } = inputs;
  const known = containerStatuses(inputs, previous);
  const [phase, reached] = phasesOf(known, inputs);
  // The final statuses are published together with the final phase, which waits for the containers to terminate.
  const ended = hasEnded(lifecycle);
  const statuses = ended ? finalStatuses(pod, known) : known;
  const generation = pod.metadata?.generation;
  const verdict = ended && lifecycle.why.kind === "failed" ? lifecycle.why : undefined;
  return {
    ...foreignFields(previous),
    phase,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...podActual(pod, phase, inputs.group, previous),
    conditions: withResize(
      inputs,
      ended,
      mergeConditions(
        (previous.conditions ?? []).filter((condition) => !isTakenBack(condition, inputs)),
        new Map([
          ...ownedConditions(pod, statuses, reached, inputs.view, previous.conditions ?? []),
          ...disruptionBy(verdict),
          ...blockedBy(inputs.blockedTermination),
        ]),
        generation,
        wallMs,
      ),
    ),
    ...(verdict === undefined ? keptVerdict(previous) : { reason: verdict.reason, message: verdict.message }),
    ...addresses(inputs),
    startTime: previous.startTime ?? apiTime(inputs.firstSeenWallMs),
    qosClass: previous.qosClass ?? inputs.qosClass,
    ...statusLists(statuses),
  };
}

const blockedBy = (end: BlockedTermination | undefined) =>
  end?.kind === "blocked" ? [[TERMINATION_BLOCKED, { status: "True", ...end.by }] as const] : [];

/** Conditions that Deckhand published before and now retracts by leaving them out. */
const isTakenBack = ({ type }: PodCondition, { blockedTermination }: PodStatusInputs): boolean =>
  RESIZE_CONDITIONS.has(type) || (type === TERMINATION_BLOCKED && blockedTermination?.kind === "free");

/** Terminated pods are not resized. */
const withResize = (
  { pendingResize, resize, previous, wallMs }: PodStatusInputs,
  ended: boolean,
  others: readonly PodCondition[],
): readonly PodCondition[] =>
  ended ? others : [...resizeConditions(pendingResize, resize, previous.conditions ?? [], wallMs), ...others];

interface FirstFacts {
  readonly qosClass: string;
  readonly firstSeenWallMs: number;
}

/** Status of a rejected pod: it never ran on this node. */
export const rejectedStatus = (
  pod: Pod,
  previous: PodStatus,
  { reason, message }: Rejection,
  facts: FirstFacts,
): PodStatus => ({
  ...previous,
  phase: "Failed",
  reason,
  message: `Pod was rejected: ${message}`,
  ...fromTheFirst(pod, previous, facts),
});

/**
 * Status of a pod whose admission is undecided: Pending, with the reason it waits. A pod that ran before keeps its
 * phase.
 */
export const deferredStatus = (
  pod: Pod,
  previous: PodStatus,
  { reason, message }: Deferral,
  facts: FirstFacts,
): PodStatus => ({
  ...previous,
  phase: previous.phase ?? "Pending",
  reason,
  message,
  ...fromTheFirst(pod, previous, facts),
});

const fromTheFirst = (
  { metadata }: Pod,
  { qosClass, startTime }: PodStatus,
  facts: FirstFacts,
): Pick<PodStatus, "qosClass" | "startTime" | "observedGeneration"> => ({
  ...(metadata?.generation === undefined ? {} : { observedGeneration: metadata.generation }),
  qosClass: qosClass ?? facts.qosClass,
  startTime: startTime ?? apiTime(facts.firstSeenWallMs),
});

/**
 * Returns the phase to publish and the phase from which its conditions are computed. A pod that is terminated before it
 * completes has failed. Its conditions show how far it had come.
 */
function phasesOf(
  statuses: ContainerStatuses,
  { pod, view, lifecycle, previous, isStatic }: PodStatusInputs,
): readonly [phase: Phase, reached: Phase] {
  const ended = hasEnded(lifecycle);
  // A static pod whose manifest was removed and restored has the same UID and runs again.
  const livesAgain = isStatic && lifecycle.kind === "running";
  const final = isTerminal(previous.phase) && !livesAgain ? previous.phase : undefined;
  if (final !== undefined && !ended) return [final, final];
  if (ended && lifecycle.why.kind === "failed") return [final ?? "Failed", "Failed"];
  const reached = podPhase(pod, statuses, view, lifecycle);
  if (ended) return [final ?? (isTerminal(reached) || isStatic ? reached : "Failed"), reached];
  // The containers have terminated, but the worker has not confirmed it yet.
  const shown = isTerminal(reached) ? (previous.phase === "Pending" ? "Pending" : "Running") : reached;
  return [shown, shown];
}

/** Drops the reason for which the pod waited before its admission. */
function keptVerdict({ reason, message }: PodStatus): Pick<PodStatus, "reason" | "message"> {
  if (reason?.startsWith(WAITING_FOR) === true) return {};
  return { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

function addresses({ pod, view, previous, hostIps }: PodStatusInputs): Partial<PodStatus> {
  const hostIp = hostIps[0];
  const host = hostIp === undefined ? {} : { hostIP: hostIp, hostIPs: hostIps.map((ip) => ({ ip })) };
  const before = (previous.podIPs ?? []).map(({ ip }) => ip);
  const ips = podAddresses(pod, before, hostIps, view.sandboxes[0]?.ips ?? []);
  const first = ips[0];
  return { ...host, ...(first === undefined ? {} : { podIP: first, podIPs: ips.map((ip) => ({ ip })) }) };
}

/** Fields that other components write. They are kept unchanged. */
const KEPT = [
  "resourceClaimStatuses",
  "extendedResourceClaimStatus",
  "nominatedNodeName",
  "nodeAllocatableResourceClaimStatuses",
] as const satisfies readonly (keyof PodStatus)[];

const foreignFields = (previous: PodStatus): Partial<PodStatus> =>
  Object.fromEntries(KEPT.filter((field) => previous[field] !== undefined).map((field) => [field, previous[field]]));
