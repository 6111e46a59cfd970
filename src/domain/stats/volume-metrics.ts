/**
 * The metric families `kubelet_volume_stats_*`: usage of the volumes behind claims. A claim that several pods use is
 * reported once.
 */
import type { Family, Labels } from "../../base/metrics/family.ts";
import type { FsStats, VolumeStats } from "./summary-shape.ts";

const FAMILIES: readonly (readonly [name: string, help: string, value: keyof FsStats])[] = [
  ["available_bytes", "Number of available bytes in the volume", "availableBytes"],
  ["capacity_bytes", "Capacity in bytes of the volume", "capacityBytes"],
  ["inodes", "Maximum number of inodes in the volume", "inodes"],
  ["inodes_free", "Number of free inodes in the volume", "inodesFree"],
  ["inodes_used", "Number of used inodes in the volume", "inodesUsed"],
  ["used_bytes", "Number of used bytes in the volume", "usedBytes"],
];

export function volumeFamilies(volumes: readonly VolumeStats[]): readonly Family[] {
  const byClaim = new Map<string, { readonly labels: Labels; readonly stats: VolumeStats }>();
  for (const stats of volumes) {
    if (stats.pvcRef === undefined) continue;
    const { namespace, name } = stats.pvcRef;
    const labels: Labels = [
      ["namespace", namespace],
      ["persistentvolumeclaim", name],
    ];
    if (!byClaim.has(`${namespace}/${name}`)) byClaim.set(`${namespace}/${name}`, { labels, stats });
  }
  if (byClaim.size === 0) return [];
  return FAMILIES.map(([name, help, value]) => ({
    name: `kubelet_volume_stats_${name}`,
    help: `[ALPHA] ${help}`,
    kind: "gauge",
    samples: [...byClaim.values()].map(({ labels, stats }) => ({ labels, value: Number(stats[value] ?? 0) })),
  }));
}
