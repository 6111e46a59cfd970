/** The pods that this node was assigned, each with its current status as this node sees it. */
import type { Pod } from "../api/gen/core-v1.ts";
import { mountsRecursivelyReadOnly, runtimeName } from "../domain/node/runtime-health.ts";
import { type DesiredPod, mirrorOf } from "../domain/pod/desired-pod.ts";
import { untouched } from "../domain/pod/pod-outcome.ts";
import { hostIpsOf, wantedStatus } from "../domain/pod-status/wanted-status.ts";
import { podQosClass } from "../domain/resources/qos-class.ts";
import type { Wiring } from "./wiring.ts";

type Known = Pick<Wiring, "cells" | "options">;

export const podsAsKnown = ({ cells, options }: Known, wallMs: number): readonly Pod[] =>
  [...cells.desiredPods.value.pods.values()].map((desired) => asKnown(desired, { cells, options }, wallMs));

/** Of two pods with the same name the old one is terminating: returns the other. */
export function podAsKnown(
  { cells, options }: Known,
  namespace: string,
  name: string,
  wallMs: number,
): Pod | undefined {
  const found = [...cells.desiredPods.value.pods.values()].filter(
    ({ pod: { metadata } }) => metadata?.name === name && metadata.namespace === namespace,
  );
  const meant = found.find(({ pod }) => pod.metadata?.deletionTimestamp === undefined) ?? found.at(-1);
  return meant === undefined ? undefined : asKnown(meant, { cells, options }, wallMs);
}

function asKnown({ uid, pod }: DesiredPod, { cells, options }: Known, wallMs: number): Pod {
  const { admittedPods, podOutcomes, desiredPods, ownNode, runtimeHealth, probeResults } = cells;
  const admitted = admittedPods.get(uid);
  const outcome = podOutcomes.get(uid) ?? (admitted?.verdict.kind === "deferred" ? untouched(uid) : undefined);
  if (admitted === undefined || outcome === undefined) return pod;
  const published = admitted.isStatic ? mirrorOf(pod, desiredPods.value) : pod;
  const facts = {
    runtimeName: runtimeName(runtimeHealth.value),
    recursiveReadOnly: (handler: string) => mountsRecursivelyReadOnly(runtimeHealth.value, handler),
    stopSignals: options.gates.ContainerStopSignals,
    hostIps: hostIpsOf(ownNode.value),
    qosClass: podQosClass(pod),
    wallMs,
    blockedEnd: cells.blockedEnds.get(uid),
    verdictsOf: (id: string) => probeResults.get(id),
  };
  return { ...pod, status: wantedStatus(admitted, outcome, published?.status ?? {}, facts) };
}
