/** What the sources of pods say, and what comes of it: the set of pods this node should run. */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import { CONFIG_HASH, CONFIG_MIRROR, fullNameOf, type PodSource } from "./pod-identity.ts";

/** What one source last said. Before that it said nothing, which is not the same as "no pods". */
export type SourceState = { readonly kind: "unseen" } | { readonly kind: "seen"; readonly pods: readonly Pod[] };

export interface DesiredPod {
  readonly uid: string;
  readonly source: PodSource;
  /** With the annotations that only this node knows of. Never written back. */
  readonly pod: Pod;
  /** As the source gave it. The same object as long as the source has nothing new. */
  readonly given: Pod;
  readonly firstSeenWallMs: number;
  /** What stood of it when it was first seen: told by this agent's last life, or by another kubelet. */
  readonly found?: PodStatus | undefined;
}

export interface DesiredPods {
  /** By UID. Two of one name may be here at once: the old must end before the new starts. */
  readonly pods: ReadonlyMap<string, DesiredPod>;
  /** By full name: what the API server shows in place of our static pods. Not to be run. */
  readonly mirrors: ReadonlyMap<string, Pod>;
  /** Whether the API server has said which mirrors there are. Never, on a node without one. */
  readonly mirrorsSeen: boolean;
  /** Whether every source has spoken. Until then nothing is missing, only unheard of, and nothing may be cleaned up. */
  readonly sourcesReady: boolean;
}

export const noPods: DesiredPods = { pods: new Map(), mirrors: new Map(), mirrorsSeen: false, sourcesReady: false };

/** The mirror that shows this very pod: while an edit goes through, the one of its name may already show the next. */
export function mirrorOf(pod: Pod, { mirrors }: DesiredPods): Pod | undefined {
  const mirror = mirrors.get(fullNameOf(pod));
  const shown = mirror?.metadata?.annotations?.[CONFIG_MIRROR];
  return shown === pod.metadata?.annotations?.[CONFIG_HASH] ? mirror : undefined;
}

/** The oldest first; of one age, always in the same order. */
export function byCreation(a: DesiredPod, b: DesiredPod): number {
  const first = a.pod.metadata?.creationTimestamp ?? "";
  const second = b.pod.metadata?.creationTimestamp ?? "";
  if (first !== second) return first < second ? -1 : 1;
  return a.uid < b.uid ? -1 : 1;
}
