/**
 * Answers which pods eviction would end if other amounts were available. It reads what the eviction loop reads, decides
 * with the same functions, and changes nothing.
 */
import type { Latest } from "../../concurrency/latest-cell.ts";
import { evictionThresholds, withContainerFs } from "../../domain/eviction/thresholds.ts";
import { whatIf } from "../../domain/eviction/what-if.ts";
import { hypotheticalAmounts, type WhatIfReport, whatIfReport } from "../../domain/eviction/what-if-report.ts";
import type { NodeUsage } from "../../domain/node/pressure.ts";
import type { Summary } from "../../domain/stats/summary-shape.ts";
import { type ActivePodsParts, activePods } from "./active-pods.ts";
import type { EvictionLoopSettings } from "./eviction.ts";

export interface WhatIfParts extends ActivePodsParts {
  readonly nodeUsage: Latest<NodeUsage>;
  readonly usage: { summary(signal: AbortSignal): Promise<Summary> };
  readonly settings: EvictionLoopSettings;
}

export async function reportWhatIf(
  { nodeUsage, usage, settings, ...pods }: WhatIfParts,
  asked: readonly (readonly [signal: string, amount: string])[],
  signal: AbortSignal,
): Promise<WhatIfReport> {
  const { observations: measured, layout = "shared" } = nodeUsage.value;
  const observations = withContainerFs(measured, layout);
  const available = hypotheticalAmounts(asked, observations);
  const summary = await usage.summary(signal);
  const byUid = new Map(summary.pods.map((stats) => [stats.podRef.uid, stats]));
  const answer = whatIf({
    thresholds: evictionThresholds(settings, { enforcesPods: settings.enforcesPods, layout }),
    available,
    observations,
    layout,
    pods: activePods(pods),
    statsOf: (uid) => byUid.get(uid),
    maxPodGraceSeconds: settings.maxPodGraceSeconds,
  });
  return whatIfReport(answer, settings.memorySignal);
}
