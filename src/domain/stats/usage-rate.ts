/**
 * How many cores groups use now: what their counters grew by since they were last read, over the time between. A group that began since then was
 * at zero when it began. The Go kubelet reads every ten seconds for this alone; here the last reading that somebody asked for serves, unless it is
 * so long ago that it says nothing about now: then the rate is unknown, and the reader takes a second look a moment later.
 */
import type { GroupFigures } from "./figures.ts";

export interface CpuSample {
  readonly wallMs: number;
  readonly usageNs: number;
  /** Between this sample and the one before it. */
  readonly nanoCores: number | undefined;
}

export type CpuSamples = ReadonlyMap<string, CpuSample>;

/** Two readings that are closer together than this say more about chance. */
const RATE_MS_MIN = 100;
/** What happened longer ago is not now. */
const RATE_MS_MAX = 60_000;

/** The next samples, with only those groups that are there. */
export function nextSamples(last: CpuSamples, groups: readonly GroupFigures[]): CpuSamples {
  const samples = new Map<string, CpuSample>();
  for (const group of groups) {
    if (group.cpu === undefined) continue;
    samples.set(group.id, nextSample(last.get(group.id), group, group.cpu.usageNs));
  }
  return samples;
}

function nextSample(last: CpuSample | undefined, group: GroupFigures, usageNs: number): CpuSample {
  const { readWallMs, createdWallMs } = group;
  // A counter that went back is another group's of the same name.
  const same = last !== undefined && last.usageNs <= usageNs && createdWallMs <= last.wallMs ? last : undefined;
  if (same !== undefined && readWallMs >= same.wallMs && readWallMs - same.wallMs < RATE_MS_MIN) return same;
  const since = same ?? { wallMs: createdWallMs, usageNs: 0 };
  const passedMs = readWallMs - since.wallMs;
  const isKnown = passedMs >= RATE_MS_MIN && passedMs <= RATE_MS_MAX;
  const nanoCores = isKnown ? Math.floor((usageNs - since.usageNs) / (passedMs / 1000)) : undefined;
  return { wallMs: readWallMs, usageNs, nanoCores };
}

export const lacksRates = (samples: CpuSamples): boolean =>
  [...samples.values()].some(({ nanoCores }) => nanoCores === undefined);
