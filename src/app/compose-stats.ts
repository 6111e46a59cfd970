/** Wires the node's usage stats to their sources. */
import { NodeStats } from "../controllers/stats/node-stats.ts";
import type { Wiring } from "./wiring.ts";

export const statsOf = (
  { ports, options, cells }: Pick<Wiring, "ports" | "options" | "cells">,
  shutdown: AbortSignal,
): NodeStats =>
  new NodeStats(
    {
      clock: ports.clock,
      stats: ports.stats,
      machine: ports.machine,
      runtime: ports.runtime,
      images: ports.images,
      mounts: ports.mounts,
      quotas: ports.quotas,
      podRuntimeStatus: cells.podRuntimeStatus,
      cgroups: cells.cgroups,
      admittedPods: cells.admittedPods,
      mountState: cells.mountState,
      log: ports.logOf("stats"),
      nodeName: options.node.name,
      directories: { root: options.directories.root, podLogs: options.directories.podLogs },
      systemGroups: options.stats.groups,
      tellsPressure: options.gates.KubeletPSI,
      everyMs: options.stats.volumesEveryMs,
    },
    shutdown,
  );
