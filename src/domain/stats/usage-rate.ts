/**
 * How many cores cgroups use now: the growth of their counters since the last reading, divided by the time between. A
 * cgroup that was created since then started at zero. The Go kubelet reads every ten seconds only for this. Deckhand
 * uses the last requested reading, unless it is too old to describe current usage. Then the rate is unknown, and the
 * caller reads again a moment later.
 */
import type { CgroupStats } from "./stats-reading.ts";

export interface CpuSample {
  readonly wallMs: number;
  readonly usageNs: number;
  /** Between the previous sample and this one. */
  readonly nanoCores: number | undefined;
}

export type CpuSamples = ReadonlyMap<string, CpuSample>;

/** Readings closer together than this mostly show chance. */
const RATE_MS_MIN = 100;
/** Readings further apart than this do not show current usage. */
const RATE_MS_MAX = 60_000;

/** The next samples, only of the cgroups that exist. */
export function nextSamples(last: CpuSamples, groups: readonly CgroupStats[]): CpuSamples {
  const samples = new Map<string, CpuSample>();
  for (const group of groups) {
    if (group.cpu === undefined) continue;
    samples.set(group.id, nextSample(last.get(group.id), group, group.cpu.usageNs));
  }
  return samples;
}

function nextSample(last: CpuSample | undefined, group: CgroupStats, usageNs: number): CpuSample {
  const { readWallMs, createdWallMs } = group;
  // A counter that decreased belongs to another cgroup of the same name.
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
