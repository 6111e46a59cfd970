/**
 * The status of a pod as we publish it: from what the runtime says, from where the pod is in its life, and from what was published
 * before, which is the node's memory over restarts. Fields that others own pass through untouched.
 */
import type { Container, ContainerStatus, Pod, PodStatus } from "../../api/gen/core-v1.ts";
import { apiTime } from "../../base/timestamp.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import type { PodRuntimeView } from "../pod/runtime-view.ts";
import { podAddresses } from "./addresses.ts";
import { mergeConditions, ownedConditions } from "./conditions.ts";
import { type ContainerStatusInputs, containerStatus, lostState } from "./container-status.ts";
import { isTerminal, type Phase, podPhase } from "./phase.ts";

export interface PodStatusInputs extends Omit<ContainerStatusInputs, "pod" | "view"> {
  readonly pod: Pod;
  readonly view: PodRuntimeView;
  readonly lifecycle: PodLifecycle;
  /** What the API server has now. */
  readonly previous: PodStatus;
  readonly qosClass: string;
  readonly hostIps: readonly string[];
  /** When this node first saw the pod. */
  readonly firstSeenWallMs: number;
  readonly wallMs: number;
  /** A static pod's phase is not forced to an end: its manifest may still want it. */
  readonly isStatic: boolean;
}

export function podStatus(inputs: PodStatusInputs): PodStatus {
  const { pod, lifecycle, previous, wallMs } = inputs;
  const containers = pod.spec?.containers ?? [];
  const known = containerStatuses(containers, inputs);
  const phase = phaseOf(known, inputs);
  const statuses = finalStatuses(known, inputs);
  const generation = pod.metadata?.generation;
  // Said with the phase, which waits for the containers.
  const ended = lifecycle.kind === "terminated" || lifecycle.kind === "finished";
  const verdict = ended && lifecycle.why.kind === "failed" ? lifecycle.why : undefined;
  return {
    ...foreignFields(previous),
    phase,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    conditions: mergeConditions(
      previous.conditions ?? [],
      ownedConditions(pod, statuses, phase, inputs.view, previous.conditions ?? []),
      generation,
      wallMs,
    ),
    ...(verdict === undefined ? keptVerdict(previous) : { reason: verdict.reason, message: verdict.message }),
    ...addresses(inputs),
    startTime: previous.startTime ?? apiTime(inputs.firstSeenWallMs),
    qosClass: previous.qosClass ?? inputs.qosClass,
    containerStatuses: statuses,
  };
}

/** A pod that was turned away: it never ran here. */
export function rejectedStatus(
  previous: PodStatus,
  rejection: { readonly reason: string; readonly message: string },
  inputs: { readonly qosClass: string; readonly firstSeenWallMs: number },
): PodStatus {
  return {
    ...previous,
    phase: "Failed",
    reason: rejection.reason,
    message: `Pod was rejected: ${rejection.message}`,
    qosClass: previous.qosClass ?? inputs.qosClass,
    startTime: previous.startTime ?? apiTime(inputs.firstSeenWallMs),
  };
}

function containerStatuses(containers: readonly Container[], inputs: PodStatusInputs): readonly ContainerStatus[] {
  const previous = new Map((inputs.previous.containerStatuses ?? []).map((status) => [status.name, status]));
  return containers
    .map((container) => containerStatus(container, previous.get(container.name), inputs))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Once nothing may run any more, a container whose end is unknown has failed: never a success that nobody saw. */
function finalStatuses(
  statuses: readonly ContainerStatus[],
  { lifecycle }: PodStatusInputs,
): readonly ContainerStatus[] {
  if (lifecycle.kind !== "terminated" && lifecycle.kind !== "finished") return statuses;
  return statuses.map((status) =>
    status.state?.terminated === undefined
      ? { ...status, ready: false, started: false, state: { terminated: lostState("terminated") } }
      : status,
  );
}

function phaseOf(statuses: readonly ContainerStatus[], { pod, lifecycle, previous, isStatic }: PodStatusInputs): Phase {
  // A static pod whose manifest went and came back has its UID again, and lives again.
  const livesAgain = isStatic && lifecycle.kind === "running";
  if (isTerminal(previous.phase) && !livesAgain) return previous.phase;
  const ended = lifecycle.kind === "terminated" || lifecycle.kind === "finished";
  if (ended && lifecycle.why.kind === "failed") return "Failed";
  const phase = podPhase(pod, statuses, lifecycle);
  if (!isTerminal(phase)) return ended && !isStatic ? "Failed" : phase;
  // Its containers have ended, but the worker has not yet made sure of it.
  return ended ? phase : previous.phase === "Pending" ? "Pending" : "Running";
}

function keptVerdict({ reason, message }: PodStatus): Pick<PodStatus, "reason" | "message"> {
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

/** What others write, and what of a resize a kubelet before us has written: kept as it is. */
const KEPT = [
  "resourceClaimStatuses",
  "extendedResourceClaimStatus",
  "nominatedNodeName",
  "nodeAllocatableResourceClaimStatuses",
  "resources",
  "allocatedResources",
] as const satisfies readonly (keyof PodStatus)[];

const foreignFields = (previous: PodStatus): Partial<PodStatus> =>
  Object.fromEntries(KEPT.filter((field) => previous[field] !== undefined).map((field) => [field, previous[field]]));
