/** Converts durations to and from nanoseconds, the unit of the configuration. */
export const milliseconds = (count: number): bigint => BigInt(count) * 1_000_000n;
export const seconds = (count: number): bigint => milliseconds(count * 1000);
export const minutes = (count: number): bigint => seconds(count * 60);
export const hours = (count: number): bigint => minutes(count * 60);

/** Fractions of a millisecond are kept. */
export const toMs = (durationNs: bigint): number => Number(durationNs) / 1e6;
