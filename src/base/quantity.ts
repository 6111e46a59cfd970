/**
 * Kubernetes quantities ("500m", "1.5Gi", "12e6"): exact, in whole billionths, of any size.
 *
 * A quantity remembers its suffix family, and its canonical form uses that family. Values between two representable
 * amounts are rounded away from zero, so that a small non-zero request never becomes zero.
 */
export type QuantityFormat = "BinarySI" | "DecimalSI" | "DecimalExponent";

export interface Quantity {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

/** The text is not a quantity. The message is the API server's, which users know. */
export class QuantityError extends Error {
  override readonly name = "QuantityError";
}

const NANOS_PER_UNIT = 1_000_000_000n;
const BINARY_MAX = (2n ** 63n - 1n) * NANOS_PER_UNIT;
/**
 * No real amount is beyond this. The API server accepts larger powers, so they must not fail here; they count as this
 * one, because larger numbers would only cost memory.
 */
const EXPONENT_MAX = 100;

const SHAPE = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$";
const PARTS = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;

const DECIMAL_SUFFIXES = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"] as const;
const BINARY_SUFFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;

export function parseQuantity(text: string): Quantity {
  const parts = text === "" ? null : PARTS.exec(text);
  if (parts === null) throw new QuantityError(`quantities must match the regular expression '${SHAPE}'`);
  const [, sign = "", whole = "", fraction = "", suffix = ""] = parts;
  const { base, exponent, format } = readSuffix(suffix);
  const digits = BigInt(`0${whole}${fraction}`);
  const scaled = base === 2n ? digits * 2n ** BigInt(exponent) : digits;
  const nanos = shift(scaled, (base === 10n ? exponent : 0) + 9 - fraction.length);
  return signed(format === "BinarySI" ? boundedBinary(nanos) : { nanos, format }, sign === "-");
}

function readSuffix(suffix: string): {
  readonly base: 2n | 10n;
  readonly exponent: number;
  readonly format: QuantityFormat;
} {
  const decimal = (DECIMAL_SUFFIXES as readonly string[]).indexOf(suffix);
  if (decimal >= 0) return { base: 10n, exponent: (decimal - 3) * 3, format: "DecimalSI" };
  const binary = (BINARY_SUFFIXES as readonly string[]).indexOf(suffix);
  if (binary >= 0) return { base: 2n, exponent: binary * 10, format: "BinarySI" };
  const exponent = /^[eE]([-+]?[0-9]+)$/.exec(suffix)?.[1];
  if (exponent === undefined) throw new QuantityError("unable to parse quantity's suffix");
  const bounded = Math.max(-EXPONENT_MAX, Math.min(EXPONENT_MAX, Number(exponent)));
  return { base: 10n, exponent: bounded, format: "DecimalExponent" };
}

/** Binary amounts are capped at the largest int64; amounts below one unit use decimal suffixes. */
function boundedBinary(nanos: bigint): Quantity {
  if (nanos > BINARY_MAX) return { nanos: BINARY_MAX, format: "BinarySI" };
  return { nanos, format: nanos > 0n && nanos < NANOS_PER_UNIT ? "DecimalSI" : "BinarySI" };
}

const signed = (quantity: Quantity, negative: boolean): Quantity =>
  negative ? { ...quantity, nanos: -quantity.nanos } : quantity;

/** `value` times ten to the `exponent`, rounded up to a whole number. `value` is not negative. */
function shift(value: bigint, exponent: number): bigint {
  return exponent >= 0 ? value * 10n ** BigInt(exponent) : awayFromZero(value, 10n ** BigInt(-exponent));
}

function awayFromZero(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  if (value % divisor === 0n) return quotient;
  return value < 0n ? quotient - 1n : quotient + 1n;
}

export const wholeQuantity = (value: bigint, format: QuantityFormat): Quantity => ({
  nanos: value * NANOS_PER_UNIT,
  format,
});

/** The canonical form: no fraction, the largest suffix that allows it. */
export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return "0";
  const inBinary = format === "BinarySI" && nanos % NANOS_PER_UNIT === 0n && !isSmall(nanos);
  if (inBinary) return binaryText(nanos / NANOS_PER_UNIT);
  return decimalText(nanos, format === "DecimalExponent" ? "DecimalExponent" : "DecimalSI");
}

const isSmall = (nanos: bigint) => nanos > -1024n * NANOS_PER_UNIT && nanos < 1024n * NANOS_PER_UNIT;

function binaryText(value: bigint): string {
  let [left, step] = [value, 0];
  while (left % 1024n === 0n && step < BINARY_SUFFIXES.length - 1) [left, step] = [left / 1024n, step + 1];
  return `${left}${BINARY_SUFFIXES[step]}`;
}

function decimalText(nanos: bigint, format: "DecimalSI" | "DecimalExponent"): string {
  const stepMax = format === "DecimalSI" ? DECIMAL_SUFFIXES.length - 1 : EXPONENT_MAX;
  let [left, step] = [nanos, 0];
  while (left % 1000n === 0n && step < stepMax) [left, step] = [left / 1000n, step + 1];
  if (format === "DecimalSI") return `${left}${DECIMAL_SUFFIXES[step]}`;
  return step === 3 ? `${left}` : `${left}e${(step - 3) * 3}`;
}

/** Negative, zero or positive, as `a` is less than, equal to or greater than `b`. */
export const compareQuantities = (a: Quantity, b: Quantity): -1 | 0 | 1 =>
  a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;

/** In the format of `a`, or of `b` where `a` is zero. */
export const addQuantities = (a: Quantity, b: Quantity): Quantity => ({
  nanos: a.nanos + b.nanos,
  format: a.nanos === 0n ? b.format : a.format,
});

/** In the format of `a`, or of `b` where `a` is zero. */
export const subtractQuantities = (a: Quantity, b: Quantity): Quantity => ({
  nanos: a.nanos - b.nanos,
  format: a.nanos === 0n ? b.format : a.format,
});

/** In whole units, rounded away from zero. */
export const quantityValue = ({ nanos }: Quantity): bigint => awayFromZero(nanos, NANOS_PER_UNIT);

/** In thousandths, rounded away from zero. */
export const quantityMilliValue = ({ nanos }: Quantity): bigint => awayFromZero(nanos, 1_000_000n);
