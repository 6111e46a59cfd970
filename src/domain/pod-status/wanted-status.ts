/**
 * Computes the status of a pod assigned to this node, admitted or not. It is published, and returned to clients that
 * query the node.
 */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import type { OwnNode } from "../node/own-node.ts";
import type { AdmittedPod } from "../pod/admitted-pod.ts";
import { containerNamed } from "../pod/containers.ts";
import type { BlockedTermination } from "../pod/ending.ts";
import type { PodOutcome } from "../pod/pod-outcome.ts";
import { publishedStatusOf } from "../pod/published-status.ts";
import { containerNameOf, type PodContainer, type PodRuntimeView } from "../pod/runtime-view.ts";
import { FIRST_VERDICTS, type ProbeVerdicts, publishedVerdicts, readyByProbes } from "../probes/verdicts.ts";
import { hostAddresses } from "./addresses.ts";
import { deferredStatus, podStatus, rejectedStatus } from "./pod-status.ts";

export interface StatusFacts {
  readonly qosClass: string;
  readonly runtimeName: string;
  /** Whether the given runtime handler supports recursive read-only mounts. */
  readonly recursiveReadOnly: (handler: string) => boolean;
  readonly stopSignals: boolean;
  readonly hostIps: readonly string[];
  readonly wallMs: number;
  /** What blocks the pod's termination, if anything. Undefined: nothing new is known. */
  readonly blockedTermination: BlockedTermination | undefined;
  /** The probe results of a container, by its ID. Undefined: none yet. */
  readonly verdictsOf: (id: string) => ProbeVerdicts | undefined;
}

export function wantedStatus(
  { pod, verdict, firstSeenWallMs, initialStatus, isStatic, resize: wanted }: AdmittedPod,
  { view, lifecycle, waiting, messages, postStartDue, resets, resize, actuated, group, restarting }: PodOutcome,
  previous: PodStatus,
  facts: StatusFacts,
): PodStatus {
  if (verdict.kind === "rejected") {
    return rejectedStatus(pod, previous, verdict.rejection, { qosClass: facts.qosClass, firstSeenWallMs });
  }
  if (verdict.kind === "deferred" && lifecycle.kind === "running") {
    if (verdict.deferral.isSilent) return previous;
    return deferredStatus(pod, previous, verdict.deferral, { qosClass: facts.qosClass, firstSeenWallMs });
  }
  return podStatus({
    pod,
    view: postStartDue.size === 0 ? view : withoutIds(view, postStartDue),
    hidden: view.containers.filter(({ id }) => postStartDue.has(id)),
    lifecycle,
    waiting,
    resets,
    messages,
    previous,
    initialStatus,
    ...facts,
    recursiveReadOnly: facts.recursiveReadOnly(view.sandboxes[0]?.runtimeHandler ?? ""),
    ready: (instance) => readyOf(instance, pod, previous, facts),
    firstSeenWallMs,
    isStatic,
    pendingResize: wanted?.pending,
    resize,
    group,
    ...(actuated !== undefined && { actuated: actuated.containers }),
    ...(restarting !== undefined && lifecycle.kind === "running" && { restarting }),
  });
}

const withoutIds = (view: PodRuntimeView, ids: ReadonlySet<string>): PodRuntimeView => ({
  ...view,
  containers: view.containers.filter(({ id }) => !ids.has(id)),
});

export const hostIpsOf = (own: OwnNode): readonly string[] =>
  own.kind === "present" ? hostAddresses(own.node.status?.addresses ?? []) : [];

/**
 * Until probe results arrive, a container keeps its published readiness. A kubelet restart therefore makes no container
 * unready.
 */
function readyOf(instance: PodContainer, { spec }: Pod, previous: PodStatus, { verdictsOf }: StatusFacts) {
  const name = containerNameOf(instance);
  const container = containerNamed(spec, name)?.container ?? { name };
  const published = publishedStatusOf(previous, instance.id);
  const verdicts = verdictsOf(instance.id) ?? publishedVerdicts(instance.id, published) ?? FIRST_VERDICTS;
  return readyByProbes(container, instance, verdicts);
}
