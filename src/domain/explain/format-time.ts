/** Times and durations as people read them in a terminal. All times are UTC. */

const DAY_CHARS = "2026-01-01".length;

/** `12:00:31`; with the date if it is not today. */
export function shortTime(wallMs: number, nowWallMs: number): string {
  const [at, now] = [new Date(wallMs), new Date(nowWallMs)].map((date) => date.toISOString());
  const [day, time] = [at?.slice(0, DAY_CHARS), at?.slice(DAY_CHARS + 1, DAY_CHARS + 9)];
  return day === now?.slice(0, DAY_CHARS) ? `${time}` : `${day} ${time}`;
}

/** `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`. */
export function shortDuration(ms: number): string {
  if (ms < 9_950) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (hours === 0) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

export const msOfNs = (ns: string): number => (/^\d+$/.test(ns) ? Number(BigInt(ns) / 1_000_000n) : 0);
