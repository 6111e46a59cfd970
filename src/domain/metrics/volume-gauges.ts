/** How many volumes the node's pods need, and how many of them are mounted, by the plugin name of the Go kubelet. */

import type { Volume } from "../../api/gen/core-v1.ts";
import type { Reading } from "../../base/metrics/registry.ts";
import type { AdmittedPod } from "../pod/admitted-pod.ts";
import { hasEnded } from "../pod/pod-lifecycle.ts";
import type { PodOutcome } from "../pod/pod-outcome.ts";
import { kindOf, type VolumeKind } from "../volumes/layout.ts";
import { usedVolumes } from "../volumes/used-volumes.ts";
import type { PodVolumes } from "../volumes/volume-state.ts";
import { storagePlugin } from "./volume-metrics.ts";

/** Every claim counts as bound to a local volume, the only kind of PersistentVolume that the agent mounts. */
const CLAIMED = "local-volume";

function pluginOf(volume: Volume, kinds: readonly VolumeKind[]): string {
  if (volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined) return storagePlugin(CLAIMED);
  const kind = kindOf(volume, kinds);
  return kind === undefined ? "<n/a>" : storagePlugin(kind.name);
}

/** Counts only pods whose containers may still run. */
export function volumeCounts(
  admitted: readonly AdmittedPod[],
  outcome: (uid: string) => PodOutcome | undefined,
  mounted: (uid: string) => PodVolumes | undefined,
  kinds: readonly VolumeKind[],
): readonly Reading<readonly ["plugin_name", "state"]>[] {
  const counts = new Map<string, { desired: number; actual: number }>();
  for (const { uid, pod, verdict } of admitted) {
    const lifecycle = outcome(uid)?.lifecycle;
    if (verdict.kind !== "admitted" || (lifecycle !== undefined && hasEnded(lifecycle))) continue;
    for (const volume of usedVolumes(pod)) {
      const plugin = pluginOf(volume, kinds);
      const count = counts.get(plugin) ?? { desired: 0, actual: 0 };
      counts.set(plugin, count);
      count.desired += 1;
      if (mounted(uid)?.get(volume.name)?.kind === "mounted") count.actual += 1;
    }
  }
  return [...counts].flatMap(([plugin, { desired, actual }]) => [
    [desired, plugin, "desired_state_of_world"] as const,
    [actual, plugin, "actual_state_of_world"] as const,
  ]);
}
