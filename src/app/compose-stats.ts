/** What the node tells of its own use, wired to what it is read from. */
import { type StatsDesk, statsDesk } from "../server/stats/stats-routes.ts";
import type { Wiring } from "./compose.ts";

/** Nothing is read before somebody asks. */
export const statsOf = (
  { ports, options, cells }: Pick<Wiring, "ports" | "options" | "cells">,
  shutdown: AbortSignal,
): StatsDesk =>
  statsDesk(
    {
      ...ports,
      ...cells,
      log: ports.logOf("stats"),
      nodeName: options.node.name,
      folders: { root: options.folders.root, podLogs: options.folders.podLogs },
      systemGroups: options.stats.groups,
      tellsPressure: options.gates.KubeletPSI,
      everyMs: options.stats.volumesEveryMs,
    },
    shutdown,
  );
