/**
 * The metric family `kubelet_container_log_filesystem_used_bytes`: how much of the node's disk each container's logs
 * use.
 */
import type { Family } from "../../base/metrics/family.ts";
import type { StatsPod } from "./stats-pods.ts";
import type { StatsReading } from "./stats-reading.ts";
import { containerLogs, type StatsDirectories } from "./summary.ts";

export function logFamilies(
  pods: readonly StatsPod[],
  { files }: Pick<StatsReading, "files">,
  directories: StatsDirectories,
): readonly Family[] {
  const samples = pods.flatMap((pod) =>
    pod.containers.flatMap((container) => {
      const usage = files.get(containerLogs(directories, pod, container));
      if (usage === undefined) return [];
      const { namespace, name, uid } = pod;
      const labels = [
        ["container", container.name],
        ["namespace", namespace],
        ["pod", name],
        ["uid", uid],
      ] as const;
      return [{ labels, value: usage.bytes }];
    }),
  );
  if (samples.length === 0) return [];
  const name = "kubelet_container_log_filesystem_used_bytes";
  return [{ name, help: "How much the logs of a container take on the node's disk.", kind: "gauge", samples }];
}
