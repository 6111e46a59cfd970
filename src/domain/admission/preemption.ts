/**
 * Chooses the pods to preempt for a critical pod: as few Guaranteed as possible, then as few Burstable, then as few
 * BestEffort. Among equals it prefers pods whose requests match the missing amounts most closely.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { isCriticalPod } from "../pod/pod-identity.ts";
import { hasPodLevelResources, podRequests, specOf } from "../resources/pod-resources.ts";
import { podQosClass } from "../resources/qos-class.ts";
import { parseResourceList, type ResourceList } from "../resources/resource-list.ts";
import { amountOf, type Shortage } from "./resource-fit.ts";

/** The reason and message in the status and the event of a preempted pod. */
export const PREEMPTED = { reason: "Preempting", message: "Preempted in order to admit critical pod" } as const;

/** Preemption as the origin of a termination request. */
export const PREEMPTION = {
  reason: PREEMPTED.reason,
  disruption: () => "Pod was preempted by Kubelet to accommodate a critical pod.",
} as const;

export type Preemption =
  | { readonly kind: "victims"; readonly victims: readonly Pod[] }
  /** `message` is upstream's. */
  | { readonly kind: "impossible"; readonly message: string };

/** The missing amount of a resource. */
interface Need {
  readonly resource: string;
  readonly amount: bigint;
}

export function choosePreempted(pod: Pod, others: readonly Pod[], short: readonly Shortage[]): Preemption {
  const needs = short.map(({ resource, requested, used, capacity }) => ({
    resource,
    amount: requested - (capacity - used),
  }));
  const weaker = others.filter((other) => yields(other, pod));
  const ofClass = (name: string) => weaker.filter((other) => podQosClass(other) === name);
  const [bestEffort, burstable, guaranteed] = [ofClass("BestEffort"), ofClass("Burstable"), ofClass("Guaranteed")];
  const unmet = without(needs, weaker);
  if (unmet.length > 0)
    return { kind: "impossible", message: `no set of running pods found to reclaim resources: ${text(unmet)}` };
  // Each class frees only what the others cannot: Guaranteed pods only what BestEffort and Burstable pods leave
  // missing.
  const guaranteedVictims = closest(guaranteed, without(needs, [...bestEffort, ...burstable]));
  const burstableVictims = closest(burstable, without(needs, [...bestEffort, ...guaranteedVictims]));
  const bestEffortVictims = closest(bestEffort, without(needs, [...burstableVictims, ...guaranteedVictims]));
  return { kind: "victims", victims: [...bestEffortVictims, ...burstableVictims, ...guaranteedVictims] };
}

function yields(other: Pod, to: Pod): boolean {
  if (isCriticalPod(to) && !isCriticalPod(other)) return true;
  const [own, theirs] = [to.spec?.priority, other.spec?.priority];
  return own !== undefined && theirs !== undefined && own > theirs;
}

/**
 * Picks the pod that frees most of what is missing until nothing is missing. Of two that free as much, picks the
 * smaller.
 */
function closest(candidates: readonly Pod[], needs: readonly Need[]): readonly Pod[] {
  const left = [...candidates];
  const chosen: Pod[] = [];
  let missing = needs;
  while (missing.length > 0 && left.length > 0) {
    let bestIndex = 0;
    let bestDistance = Number.POSITIVE_INFINITY;
    for (const [index, candidate] of left.entries()) {
      const distance = distanceOf(candidate, missing);
      const best = left[bestIndex] ?? candidate;
      if (distance < bestDistance || (distance === bestDistance && isSmaller(candidate, best))) {
        [bestIndex, bestDistance] = [index, distance];
      }
    }
    const [best] = left.splice(bestIndex, 1);
    if (best === undefined) break;
    chosen.push(best);
    missing = without(missing, [best]);
  }
  return chosen;
}

/** The part of each need that stays missing without this pod: squared fractions, summed with equal weights. */
function distanceOf(pod: Pod, needs: readonly Need[]): number {
  return needs
    .map(({ resource, amount }) => Math.max(0, Number(amount - requestOf(pod, resource)) / Number(amount)) ** 2)
    .reduce((all, one) => all + one, 0);
}

function isSmaller(one: Pod, other: Pod): boolean {
  for (const resource of ["memory", "cpu"]) {
    const [own, theirs] = [requestOf(one, resource), requestOf(other, resource)];
    if (own !== theirs) return own < theirs;
  }
  return true;
}

/** The needs that remain once these pods are gone. */
const without = (needs: readonly Need[], pods: readonly Pod[]): readonly Need[] =>
  needs
    .map(({ resource, amount }) => ({
      resource,
      amount: pods.reduce((left, pod) => left - requestOf(pod, resource), amount),
    }))
    .filter(({ amount }) => amount > 0n);

function requestOf(pod: Pod, resource: string): bigint {
  if (resource === "pods") return 1n;
  const quantity = ownRequests(pod).get(resource);
  const requested = quantity === undefined ? 0n : amountOf(resource, quantity);
  const overhead = parseResourceList(pod.spec?.overhead).get(resource);
  return requested === 0n || overhead === undefined ? requested : requested + amountOf(resource, overhead);
}

function ownRequests(pod: Pod): ResourceList {
  const spec = specOf(pod);
  return hasPodLevelResources(spec)
    ? parseResourceList(spec.resources?.requests)
    : podRequests(spec, { overhead: false });
}

const text = (needs: readonly Need[]): string =>
  `[${needs.map(({ resource, amount }) => `(res: ${resource}, q: ${amount}), `).join("")}]`;
