/** The conditions a kubelet owns. All others are other people's and pass through untouched. */
import type { ContainerStatus, Pod, PodCondition } from "../../api/gen/core-v1.ts";
import { apiTime } from "../../base/timestamp.ts";
import type { PodRuntimeView } from "../pod/runtime-view.ts";
import { decideSandbox } from "../pod/sandbox-decision.ts";
import type { Phase } from "./phase.ts";

type Verdict = Pick<PodCondition, "status" | "reason" | "message">;

const yes: Verdict = { status: "True" };

export function ownedConditions(
  pod: Pod,
  statuses: readonly ContainerStatus[],
  phase: Phase,
  view: PodRuntimeView,
  published: readonly PodCondition[],
): ReadonlyMap<string, Verdict> {
  const containers = containersReady(pod, statuses, phase);
  return new Map<string, Verdict>([
    ["PodReadyToStartContainers", readyToStart(pod, view, phase)],
    ["Initialized", phase === "Succeeded" ? { status: "True", reason: "PodCompleted" } : yes],
    ["Ready", containers.status === "True" ? gatesReady(pod, published) : containers],
    ["ContainersReady", containers],
    ["PodScheduled", yes],
  ]);
}

function containersReady(pod: Pod, statuses: readonly ContainerStatus[], phase: Phase): Verdict {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  if (statuses.length === 0) return { status: "False", reason: "UnknownContainerStatuses" };
  const named = new Map(statuses.map((status) => [status.name, status]));
  const names = (pod.spec?.containers ?? []).map(({ name }) => name);
  const unknown = names.filter((name) => !named.has(name));
  const unready = names.filter((name) => named.get(name)?.ready === false);
  const complaints: string[] = [];
  if (unknown.length > 0) complaints.push(`containers with unknown status: [${unknown.join(" ")}]`);
  if (unready.length > 0) complaints.push(`containers with unready status: [${unready.join(" ")}]`);
  if (complaints.length === 0) return yes;
  return { status: "False", reason: "ContainersNotReady", message: complaints.join(", ") };
}

/** Others say by conditions of their own whether a pod whose containers are ready is ready. */
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

/** The published list with our verdicts in it. A time of transition moves only with the status itself. */
export function mergeConditions(
  previous: readonly PodCondition[],
  owned: ReadonlyMap<string, Verdict>,
  generation: number | undefined,
  wallMs: number,
): readonly PodCondition[] {
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const known = new Map(previous.map((condition) => [condition.type, condition]));
  const ours = [...owned].map(([type, verdict]): PodCondition => {
    const before = known.get(type);
    const since = before?.status === verdict.status ? before.lastTransitionTime : undefined;
    return { type, ...verdict, ...observed, lastTransitionTime: since ?? apiTime(wallMs) };
  });
  const others = previous.filter(({ type }) => !owned.has(type));
  return [...ours, ...others];
}
