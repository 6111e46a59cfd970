/** Converts millicores to the units of the kernel. */
const SHARES_MIN = 2;
const SHARES_MAX = 262_144;
const WEIGHT_MAX = 10_000n;
/** The kernel rejects less than one millisecond of run time in a period. */
const QUOTA_US_MIN = 1000;
const HUNDREDTH_US = 10_000n;

export const NO_SHARES = SHARES_MIN;
export const DEFAULT_PERIOD_US = 100_000;

export function sharesOf(milliCpu: bigint): number {
  const shares = (milliCpu * 1024n) / 1000n;
  return shares < SHARES_MIN ? SHARES_MIN : shares > SHARES_MAX ? SHARES_MAX : Number(shares);
}

/** Undefined without a limit. */
export function quotaUsOf(milliCpu: bigint, periodUs: number): number | undefined {
  if (milliCpu === 0n) return undefined;
  return Math.max(Number((milliCpu * BigInt(periodUs)) / 1000n), QUOTA_US_MIN);
}

/** The CPU time per second of a slice. systemd counts in whole hundredths of a CPU: other values are rounded up. */
export function slicePerSecondUs(quotaUs: number, periodUs: number): bigint {
  const perSecondUs = (BigInt(quotaUs) * 1_000_000n) / BigInt(periodUs);
  const beyond = perSecondUs % HUNDREDTH_US;
  return beyond === 0n ? perSecondUs : perSecondUs - beyond + HUNDREDTH_US;
}

/** The quota for that CPU time, never less than requested: the quotas of the containers inside must fit. */
export function sliceQuotaUs(quotaUs: number, periodUs: number): number {
  const exactly = (BigInt(quotaUs) * 1_000_000n) / BigInt(periodUs);
  const perSecondUs = slicePerSecondUs(quotaUs, periodUs);
  return perSecondUs === exactly ? quotaUs : Number((perSecondUs * BigInt(periodUs)) / 1_000_000n);
}

/** The cgroup v2 weight of pods and of the cgroups above them: linear. Runtimes use another curve for containers. */
export function weightOf(shares: number): number {
  if (shares >= SHARES_MAX) return Number(WEIGHT_MAX);
  return Number(1n + (BigInt(Math.max(shares, SHARES_MIN) - SHARES_MIN) * (WEIGHT_MAX - 1n)) / 262_142n);
}

/** The shares that a weight stands for; several numbers of shares have the same weight. */
export const sharesOfWeight = (weight: number): number => Number(((BigInt(weight) - 1n) * 262_142n) / 9999n) + 2;

/** Rounded up, so that it inverts `sharesOf`. */
export const milliOfShares = (shares: number): bigint =>
  shares < SHARES_MIN ? 0n : (BigInt(shares) * 1000n + 1023n) / 1024n;

/** 0: no limit. */
export const milliOfQuota = (quotaUs: number, periodUs: number): bigint =>
  quotaUs < 0 || periodUs <= 0 ? 0n : (BigInt(quotaUs) * 1000n) / BigInt(periodUs);
