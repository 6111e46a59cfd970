/** Wires the eviction of pods, and the answer to what it would do that the local socket serves. */
import { EvictionLoop, type EvictionLoopSettings } from "../controllers/eviction/eviction.ts";
import { reportWhatIf } from "../controllers/eviction/report-what-if.ts";
import { AmountFault } from "../domain/eviction/what-if-report.ts";
import type { Journal } from "../ports/journal.ts";
import type { LocalRoute } from "../server/local-socket.ts";
import { HttpError } from "../server/route.ts";
import { WHAT_IF } from "./commands/eviction.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import type { Wiring } from "./wiring.ts";

const settingsOf = ({ eviction, node, cgroups }: CompiledOptions): EvictionLoopSettings => ({
  hard: eviction.hard,
  soft: eviction.soft,
  minReclaims: eviction.minReclaims,
  nodeName: node.name,
  enforcesPods: cgroups.enforced.has("pods"),
  conditionHoldMs: eviction.conditionHoldMs,
  maxPodGraceSeconds: eviction.maxPodGraceSeconds,
  localStorage: node.localStorage,
  memorySignal: eviction.memorySignal,
});

export const evictionLoop = (
  { ports, options, cells, events, metrics, stats }: Wiring,
  journal: Journal,
): EvictionLoop =>
  new EvictionLoop({
    clock: ports.clock,
    log: ports.logOf("eviction"),
    events,
    journal,
    metrics: metrics.evictions,
    usage: stats,
    nodeUsage: cells.nodeUsage,
    pressure: cells.pressure,
    sourcesReady: cells.sourcesReady,
    admittedPods: cells.admittedPods,
    podOutcomes: cells.podOutcomes,
    evictions: cells.endRequests.eviction,
    reclaimRequests: cells.reclaimRequests,
    imagesReclaimed: cells.imagesReclaimed,
    containersReclaimed: cells.containersReclaimed,
    settings: settingsOf(options),
  });

export const whatIfRoute = ({ options, cells, stats }: Pick<Wiring, "options" | "cells" | "stats">): LocalRoute => ({
  path: WHAT_IF,
  answer: (query, signal) =>
    orBadRequest(
      reportWhatIf(
        {
          nodeUsage: cells.nodeUsage,
          admittedPods: cells.admittedPods,
          podOutcomes: cells.podOutcomes,
          usage: stats,
          settings: settingsOf(options),
        },
        [...query],
        signal,
      ),
    ),
});

async function orBadRequest<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AmountFault) throw new HttpError(400, error.message, { cause: error });
    throw error;
  }
}
