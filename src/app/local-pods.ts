/** The pods that this node was assigned, each with its current status as this node sees it. */
import type { Pod } from "../api/gen/core-v1.ts";
import { mountsRecursivelyReadOnly, runtimeName } from "../domain/node/runtime-health.ts";
import { type DesiredPod, mirrorOf } from "../domain/pod/desired-pod.ts";
import { keyOf } from "../domain/pod/pod-identity.ts";
import { emptyOutcome } from "../domain/pod/pod-outcome.ts";
import { podNameOf } from "../domain/pod/runtime-view.ts";
import { hostIpsOf, wantedStatus } from "../domain/pod-status/wanted-status.ts";
import { podQosClass } from "../domain/resources/qos-class.ts";
import type { Cells, Wiring } from "./wiring.ts";

type LocalPodsParts = Pick<Wiring, "cells" | "options">;

export const localPods = ({ cells, options }: LocalPodsParts, wallMs: number): readonly Pod[] =>
  [...cells.desiredPods.value.pods.values()].map((desired) => withStatus(desired, { cells, options }, wallMs));

/** Of two pods with the same name the old one is terminating: returns the other. */
export function localPod(
  { cells, options }: LocalPodsParts,
  namespace: string,
  name: string,
  wallMs: number,
): Pod | undefined {
  const found = [...cells.desiredPods.value.pods.values()].filter(
    ({ pod: { metadata } }) => metadata?.name === name && metadata.namespace === namespace,
  );
  const meant = found.find(({ pod }) => pod.metadata?.deletionTimestamp === undefined) ?? found.at(-1);
  return meant === undefined ? undefined : withStatus(meant, { cells, options }, wallMs);
}

function withStatus({ uid, pod }: DesiredPod, { cells, options }: LocalPodsParts, wallMs: number): Pod {
  const { admittedPods, podOutcomes, desiredPods, ownNode, runtimeHealth, probeResults } = cells;
  const admitted = admittedPods.get(uid);
  const outcome = podOutcomes.get(uid) ?? (admitted?.verdict.kind === "deferred" ? emptyOutcome(uid) : undefined);
  if (admitted === undefined || outcome === undefined) return pod;
  const published = admitted.isStatic ? mirrorOf(pod, desiredPods.value) : pod;
  const facts = {
    runtimeName: runtimeName(runtimeHealth.value),
    recursiveReadOnly: (handler: string) => mountsRecursivelyReadOnly(runtimeHealth.value, handler),
    stopSignals: options.gates.ContainerStopSignals,
    hostIps: hostIpsOf(ownNode.value),
    qosClass: podQosClass(pod),
    wallMs,
    blockedTermination: cells.blockedTerminations.get(uid),
    verdictsOf: (id: string) => probeResults.get(id),
  };
  return { ...pod, status: wantedStatus(admitted, outcome, published?.status ?? {}, facts) };
}

/** Namespace and name of a pod that a source, the admission or the runtime knows. */
export function nameOfPod({ desiredPods, admittedPods, podRuntimeStatus }: Cells, uid: string): string | undefined {
  const pod = desiredPods.value.pods.get(uid)?.pod ?? admittedPods.get(uid)?.pod;
  if (pod !== undefined) return keyOf(pod);
  const view = podRuntimeStatus.get(uid);
  const named = view === undefined ? undefined : podNameOf(view);
  return named === undefined ? undefined : `${named.namespace}/${named.name}`;
}
