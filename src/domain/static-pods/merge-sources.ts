/**
 * Merges the reports of the pod sources into the set of desired pods. A pod keeps the time at which it was first
 * observed, and its status at that time, as long as its source has it without interruption. A pod that a source no
 * longer has stays until all sources have reported. A second pod with the same name in one source, or with a UID in use,
 * is refused.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { DesiredPod, DesiredPods, SourceState } from "../pod/desired-pod.ts";
import { CONFIG_SEEN, CONFIG_SOURCE, fullNameOf, isMirrorPod, type PodSource } from "../pod/pod-identity.ts";
import { describePod, podNameOfObject } from "../pod/pod-names.ts";

export interface Refusal {
  readonly pod: Pod;
  readonly source: PodSource;
  readonly message: string;
}

export interface Merged {
  readonly desired: DesiredPods;
  /** All pods that are refused now, whether or not they were refused before. */
  readonly refusals: readonly Refusal[];
}

export function mergeSources(
  sources: ReadonlyMap<PodSource, SourceState>,
  before: DesiredPods,
  wallMs: number,
): Merged {
  const pods = new Map<string, DesiredPod>();
  const mirrors = new Map<string, Pod>();
  const refusals: Refusal[] = [];
  for (const [source, state] of sources) {
    if (state.kind === "unseen") continue;
    const names = new Set<string>();
    for (const pod of state.pods) {
      const fullName = fullNameOf(pod);
      if (source === "api" && isMirrorPod(pod)) {
        mirrors.set(fullName, pod);
        continue;
      }
      const uid = pod.metadata?.uid ?? "";
      const trouble = names.has(fullName)
        ? `pod name ${JSON.stringify(pod.metadata?.name ?? "")}`
        : pods.has(uid)
          ? `pod UID ${JSON.stringify(uid)}`
          : undefined;
      if (trouble !== undefined) {
        const message = `Error validating pod ${describePod(podNameOfObject(pod))} from ${source} due to duplicate ${trouble}, ignoring`;
        refusals.push({ pod, source, message });
        continue;
      }
      names.add(fullName);
      const incarnation = state.incarnations?.get(uid);
      pods.set(uid, desiredPod({ uid, source, given: pod, incarnation }, before.pods.get(uid), wallMs));
    }
  }
  const sourcesReady = [...sources.values()].every(({ kind }) => kind === "seen");
  if (!sourcesReady) for (const [uid, pod] of before.pods) if (!pods.has(uid)) pods.set(uid, pod);
  const mirrorsSeen = sources.get("api")?.kind === "seen";
  return { desired: { pods, mirrors, mirrorsSeen, sourcesReady }, refusals };
}

function desiredPod(
  { uid, source, given, incarnation }: Pick<DesiredPod, "uid" | "source" | "given" | "incarnation">,
  known: DesiredPod | undefined,
  wallMs: number,
): DesiredPod {
  const before = known?.source === source && known.incarnation !== incarnation ? undefined : known;
  if (before?.given === given && before.source === source) return before;
  const firstSeenWallMs = before?.firstSeenWallMs ?? wallMs;
  const annotations = {
    ...given.metadata?.annotations,
    [CONFIG_SOURCE]: source,
    [CONFIG_SEEN]: rfc3339(firstSeenWallMs),
  };
  const pod = { ...given, metadata: { ...given.metadata, annotations } };
  const { initialStatus } = before ?? { initialStatus: given.status };
  return { uid, source, pod, given, incarnation, firstSeenWallMs, initialStatus };
}

/** With as many digits below the second as necessary, or none. */
const rfc3339 = (wallMs: number) => new Date(wallMs).toISOString().replace(/\.?0+Z$/, "Z");
