/**
 * Groups that a pod's processes get from its volumes: those that its PersistentVolumes name as the owners of their
 * files.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { claimNameOf, type KnownObject } from "../cluster-objects/references.ts";
import { claimedVolume } from "./claims.ts";
import { usedVolumes } from "./used-volumes.ts";

const GROUP_ANNOTATION = "pv.beta.kubernetes.io/gid";

/** Without the groups that the pod lists itself. */
export function volumeGroups(pod: Pod, object: (key: string) => KnownObject<unknown> | undefined): readonly bigint[] {
  const listed = new Set((pod.spec?.securityContext?.supplementalGroups ?? []).map(BigInt));
  const groups = new Set<bigint>();
  for (const volume of usedVolumes(pod)) {
    if (claimNameOf(pod.metadata?.name ?? "", volume) === undefined) continue;
    const claimed = claimedVolume(pod, volume, "mount", object);
    const group = claimed.kind === "bound" ? claimed.volume.metadata?.annotations?.[GROUP_ANNOTATION] : undefined;
    if (group !== undefined && /^[+-]?\d+$/.test(group) && !listed.has(BigInt(group))) groups.add(BigInt(group));
  }
  return [...groups];
}
