/** Go durations ("1m30s"): whole nanoseconds in the range of an int64. */

/** The text is not a duration. The message is Go's, which users know. */
export class DurationError extends Error {
  override readonly name = "DurationError";
}

const NS_PER_UNIT: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["\u00b5s", 1_000n], // Micro sign (U+00B5).
  ["\u03bcs", 1_000n], // Greek letter mu (U+03BC), which looks the same.
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);
const NS_MAX = 2n ** 63n - 1n;

const TERM = /^([0-9]*)(\.?)([0-9]*)([^0-9.]*)/;

/** Returns the nanoseconds of a text such as "1h2m3.5s". Fractions of a nanosecond are truncated. */
export function parseGoDuration(text: string): bigint {
  const invalid = () => new DurationError(`time: invalid duration ${JSON.stringify(text)}`);
  const negative = text.startsWith("-");
  let rest = /^[-+]/.test(text) ? text.slice(1) : text;
  if (rest === "0") return 0n;
  if (rest === "") throw invalid();
  let totalNs = 0n;
  while (rest !== "") {
    const [term = "", whole = "", , fraction = "", unit = ""] = TERM.exec(rest) ?? [];
    if (whole === "" && fraction === "") throw invalid();
    if (unit === "") throw new DurationError(`time: missing unit in duration ${JSON.stringify(text)}`);
    const unitNs = NS_PER_UNIT.get(unit);
    if (unitNs === undefined) {
      throw new DurationError(`time: unknown unit ${JSON.stringify(unit)} in duration ${JSON.stringify(text)}`);
    }
    totalNs += BigInt(`0${whole}`) * unitNs + fractionNs(fraction, unitNs);
    rest = rest.slice(term.length);
  }
  if (totalNs > (negative ? NS_MAX + 1n : NS_MAX)) throw invalid();
  return negative ? -totalNs : totalNs;
}

/** Go computes the fraction in floating point, so "0.3333333333333333333h" is 20 minutes. */
function fractionNs(digits: string, unitNs: bigint): bigint {
  const kept = digits.slice(0, BigInt(`0${digits.slice(0, 19)}`) <= NS_MAX ? 19 : 18);
  return BigInt(Math.trunc(Number(`0${kept}`) * (Number(unitNs) / 10 ** kept.length)));
}

/** Formats as Go does: "1h0m0s", "1m30s", "1.5ms", "0s". */
export function formatGoDuration(durationNs: bigint): string {
  if (durationNs < 0n) return `-${formatGoDuration(-durationNs)}`;
  if (durationNs === 0n) return "0s";
  if (durationNs < 1_000n) return `${durationNs}ns`;
  if (durationNs < 1_000_000n) return `${decimal(durationNs, 1_000n)}\u00b5s`;
  if (durationNs < 1_000_000_000n) return `${decimal(durationNs, 1_000_000n)}ms`;
  const seconds = `${decimal(durationNs % 60_000_000_000n, 1_000_000_000n)}s`;
  const minutes = durationNs / 60_000_000_000n;
  if (minutes === 0n) return seconds;
  return minutes < 60n ? `${minutes}m${seconds}` : `${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** `value / unit` without trailing zeros; `unit` is a power of ten. */
function decimal(value: bigint, unit: bigint): string {
  const fraction = String((value % unit) + unit)
    .slice(1)
    .replace(/0+$/, "");
  return fraction === "" ? `${value / unit}` : `${value / unit}.${fraction}`;
}
