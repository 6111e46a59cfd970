/** What the pod sources report, and the resulting set of pods that this node should run. */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import { CONFIG_HASH, CONFIG_MIRROR, fullNameOf, type PodSource } from "./pod-identity.ts";

/**
 * The last report of one source. A source that has not reported yet is "unseen", which is not the same as "no pods".
 */
export type SourceState =
  | { readonly kind: "unseen" }
  | {
      readonly kind: "seen";
      readonly pods: readonly Pod[];
      /** By UID. Another number means that the source removed the pod and has it again. */
      readonly incarnations?: ReadonlyMap<string, number>;
    };

export interface DesiredPod {
  readonly uid: string;
  readonly source: PodSource;
  /** The pod with annotations that only this node knows. They are never written back. */
  readonly pod: Pod;
  /** The pod as the source gave it. It stays the same object until the source reports a change. */
  readonly given: Pod;
  /** From its source, if the source knows when it removed the pod and has it again: under the same UID. */
  readonly incarnation?: number | undefined;
  readonly firstSeenWallMs: number;
  /** The pod's status when first observed: published by an earlier process of this agent or by another kubelet. */
  readonly initialStatus?: PodStatus | undefined;
}

export interface DesiredPods {
  /** By UID. Two pods of one name may exist at once: the old one must terminate before the new one starts. */
  readonly pods: ReadonlyMap<string, DesiredPod>;
  /** Mirror pods by full name: the API server's copies of our static pods. They are not run. */
  readonly mirrors: ReadonlyMap<string, Pod>;
  /** Whether the API server has listed the mirror pods. Always false on a node without an API server. */
  readonly mirrorsSeen: boolean;
  /** Whether every source has reported. Until then a missing pod is only unknown, and nothing may be cleaned up. */
  readonly sourcesReady: boolean;
}

export const noPods: DesiredPods = { pods: new Map(), mirrors: new Map(), mirrorsSeen: false, sourcesReady: false };

/**
 * The mirror pod that shows exactly this pod. During an edit, the mirror pod of the same name may already show the next
 * version.
 */
export function mirrorOf(pod: Pod, { mirrors }: DesiredPods): Pod | undefined {
  const mirror = mirrors.get(fullNameOf(pod));
  const shown = mirror?.metadata?.annotations?.[CONFIG_MIRROR];
  return shown === pod.metadata?.annotations?.[CONFIG_HASH] ? mirror : undefined;
}

/** Sorts by creation time, oldest first. Pods of equal age are sorted by UID. */
export function byCreation(a: DesiredPod, b: DesiredPod): number {
  const first = a.pod.metadata?.creationTimestamp ?? "";
  const second = b.pod.metadata?.creationTimestamp ?? "";
  if (first !== second) return first < second ? -1 : 1;
  return a.uid < b.uid ? -1 : 1;
}
