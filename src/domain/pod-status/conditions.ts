/** The pod conditions that the kubelet owns. Conditions of other owners pass through unchanged. */
import type { Container, ContainerStatus, Pod, PodCondition } from "../../api/gen/core-v1.ts";
import { apiTime } from "../../base/timestamp.ts";
import { isSidecar } from "../pod/containers.ts";
import { isRestartingAll, mayRestartAll } from "../pod/restart-all.ts";
import type { PodRuntimeView } from "../pod/runtime-view.ts";
import { decideSandbox } from "../pod/sandbox-decision.ts";
import type { ContainerStatuses } from "./container-statuses.ts";
import type { Phase } from "./phase.ts";

type Verdict = Pick<PodCondition, "status" | "reason" | "message">;

/** Deckhand's own condition: the pod's termination is blocked. It is removed when termination makes progress. */
export const TERMINATION_BLOCKED = "TerminationBlocked";

/** The only condition for which the Go kubelet sets no observedGeneration. */
const ALL_RESTARTING = "AllContainersRestarting";

const yes: Verdict = { status: "True" };

export function ownedConditions(
  pod: Pod,
  statuses: ContainerStatuses,
  phase: Phase,
  view: PodRuntimeView,
  published: readonly PodCondition[],
): ReadonlyMap<string, Verdict> {
  const containers = containersReady(pod, statuses, phase);
  return new Map<string, Verdict>([
    ["PodReadyToStartContainers", readyToStart(pod, view, phase)],
    ["Initialized", initialised(pod, statuses, phase, published)],
    ["Ready", containers.status === "True" ? gatesReady(pod, published) : containers],
    ["ContainersReady", containers],
    ["PodScheduled", yes],
    ...(mayRestartAll(pod) ? [[ALL_RESTARTING, allRestarting(pod, phase, view)] as const] : []),
  ]);
}

/** Once Initialized is True, it stays True. */
function initialised(
  { spec }: Pod,
  { init, regular }: ContainerStatuses,
  phase: Phase,
  published: readonly PodCondition[],
): Verdict {
  const incomplete = (spec?.initContainers ?? []).filter((container) => {
    const status = init.find(({ name }) => name === container.name);
    return (isSidecar(container) ? status?.started : status?.ready) !== true;
  });
  if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };
  const hasRun = regular.some(({ state }) => state?.running !== undefined || state?.terminated !== undefined);
  const was = published.some(({ type, status }) => type === "Initialized" && status === "True");
  if (incomplete.length === 0 || hasRun || was) return yes;
  const message = `containers with incomplete status: [${namesOf(incomplete)}]`;
  return { status: "False", reason: "ContainersNotInitialized", message };
}

const namesOf = (containers: readonly Container[]): string => containers.map(({ name }) => name).join(" ");

function containersReady(pod: Pod, { init, regular }: ContainerStatuses, phase: Phase): Verdict {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  if (regular.length === 0) return { status: "False", reason: "UnknownContainerStatuses" };
  const named = new Map<string, ContainerStatus>([...init, ...regular].map((status) => [status.name, status]));
  const staying = (pod.spec?.initContainers ?? []).filter(isSidecar);
  const names = [...staying, ...(pod.spec?.containers ?? [])].map(({ name }) => name);
  const unknown = names.filter((name) => !named.has(name));
  const unready = names.filter((name) => named.get(name)?.ready === false);
  const complaints: string[] = [];
  if (unknown.length > 0) complaints.push(`containers with unknown status: [${unknown.join(" ")}]`);
  if (unready.length > 0) complaints.push(`containers with unready status: [${unready.join(" ")}]`);
  if (complaints.length === 0) return yes;
  return { status: "False", reason: "ContainersNotReady", message: complaints.join(", ") };
}

/** Readiness gates: conditions set by other components decide whether a pod with ready containers is Ready. */
function gatesReady(pod: Pod, published: readonly PodCondition[]): Verdict {
  const complaints = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const found = published.find(({ type }) => type === conditionType);
    const name = JSON.stringify(conditionType);
    if (found === undefined) return [`corresponding condition of pod readiness gate ${name} does not exist.`];
    return found.status === "True"
      ? []
      : [`the status of pod readiness gate ${name} is not "True", but ${found.status}`];
  });
  if (complaints.length === 0) return yes;
  return { status: "False", reason: "ReadinessGatesNotReady", message: complaints.join(", ") };
}

function readyToStart(pod: Pod, view: PodRuntimeView, phase: Phase): Verdict {
  if (phase === "Succeeded" || phase === "Failed") return { status: "False" };
  return decideSandbox(pod, view).kind === "keep" ? yes : { status: "False" };
}

function allRestarting(pod: Pod, phase: Phase, view: PodRuntimeView): Verdict {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  if (!isRestartingAll(pod, view)) return { status: "False" };
  const message = "container exited with restart policy rule";
  return { status: "True", reason: "RestartAllContainersStarted", message };
}

/**
 * Conditions of other owners come first, then ours, as in the Go kubelet. lastTransitionTime changes only with the
 * status.
 */
export function mergeConditions(
  previous: readonly PodCondition[],
  owned: ReadonlyMap<string, Verdict>,
  generation: number | undefined,
  wallMs: number,
): readonly PodCondition[] {
  const observedBy = (type: string) =>
    generation === undefined || type === ALL_RESTARTING ? {} : { observedGeneration: generation };
  const known = new Map(previous.map((condition) => [condition.type, condition]));
  const ours = [...owned].map(([type, verdict]): PodCondition => {
    const before = known.get(type);
    const since = before?.status === verdict.status ? before.lastTransitionTime : undefined;
    return { type, ...verdict, ...observedBy(type), lastTransitionTime: since ?? apiTime(wallMs) };
  });
  const others = previous.filter(({ type }) => !owned.has(type));
  return [...others, ...ours];
}
