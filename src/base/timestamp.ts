/** Points in time as the API spells them. */

/** RFC 3339 in whole seconds, cut, not rounded. */
export const apiTime = (wallMs: number): string =>
  `${new Date(Math.floor(wallMs / 1000) * 1000).toISOString().slice(0, 19)}Z`;

export const apiTimeOfNs = (wallNs: bigint): string => apiTime(Number(wallNs / 1_000_000n));

/** RFC 3339 with microseconds, as leases and events use it. */
export const apiMicroTime = (wallMs: number): string => {
  const micros = Math.floor((wallMs - Math.floor(wallMs)) * 1000);
  return `${new Date(Math.floor(wallMs)).toISOString().slice(0, 23)}${String(micros).padStart(3, "0")}Z`;
};
