/** Timestamps in the formats of the API. */

/** Cache of the last result: one response may contain the same second hundreds of times. */
let last = { second: Number.NaN, text: "" };

/** RFC 3339 in whole seconds, truncated. */
export function apiTime(wallMs: number): string {
  const second = Math.floor(wallMs / 1000);
  if (second !== last.second) last = { second, text: `${new Date(second * 1000).toISOString().slice(0, 19)}Z` };
  return last.text;
}

export const apiTimeOfNs = (wallNs: bigint): string => apiTime(Number(wallNs / 1_000_000n));

/** RFC 3339 with microseconds, as in Leases and Events. */
export const apiMicroTime = (wallMs: number): string => {
  const micros = Math.floor((wallMs - Math.floor(wallMs)) * 1000);
  return `${new Date(Math.floor(wallMs)).toISOString().slice(0, 23)}${String(micros).padStart(3, "0")}Z`;
};
