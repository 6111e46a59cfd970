/** How many volumes the pods here want, and how many of them are there, by the plugin that would be the Go kubelet's. */
import type { Volume } from "../../api/gen/core-v1.ts";
import type { Reading } from "../../base/metrics/registry.ts";
import type { AdmittedPod } from "../pod/admitted-pod.ts";
import type { PodOutcome } from "../pod/pod-outcome.ts";
import type { PodVolumes } from "../volumes/volume-state.ts";
import { usedVolumes } from "../volumes/volume-wish.ts";

const PLUGINS: readonly (readonly [keyof Volume, string])[] = [
  ["configMap", "kubernetes.io/configmap"],
  ["secret", "kubernetes.io/secret"],
  ["downwardAPI", "kubernetes.io/downward-api"],
  ["projected", "kubernetes.io/projected"],
  ["emptyDir", "kubernetes.io/empty-dir"],
  ["hostPath", "kubernetes.io/host-path"],
  ["image", "kubernetes.io/image"],
  ["persistentVolumeClaim", "kubernetes.io/local-volume"],
  ["ephemeral", "kubernetes.io/local-volume"],
];

const pluginOf = (volume: Volume): string => PLUGINS.find(([field]) => volume[field] !== undefined)?.[1] ?? "<n/a>";

/** Of pods whose containers may yet run. */
export function volumeCounts(
  admitted: readonly AdmittedPod[],
  outcome: (uid: string) => PodOutcome | undefined,
  mounted: (uid: string) => PodVolumes | undefined,
): readonly Reading<readonly ["plugin_name", "state"]>[] {
  const counts = new Map<string, { desired: number; actual: number }>();
  for (const { uid, pod, verdict } of admitted) {
    const lifecycle = outcome(uid)?.lifecycle.kind;
    if (verdict.kind !== "admitted" || lifecycle === "terminated" || lifecycle === "finished") continue;
    for (const volume of usedVolumes(pod)) {
      const plugin = pluginOf(volume);
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
