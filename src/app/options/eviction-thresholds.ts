/** Parses thresholds: "memory.available": "100Mi" or "10%" becomes an amount or a share. */
import { parseGoDuration } from "../../base/duration.ts";
import { goQuote } from "../../base/go-text.ts";
import { formatQuantity, parseQuantity, quantityValue } from "../../base/quantity.ts";
import { toMs } from "./value-types.ts";

const SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "containerfs.available",
  "containerfs.inodesFree",
  "allocatableMemory.available",
  "pid.available",
] as const;

type EvictionSignal = (typeof SIGNALS)[number];

export interface EvictionThreshold {
  readonly signal: EvictionSignal;
  readonly value:
    | { readonly kind: "amount"; readonly amount: bigint }
    /** Share of the capacity, from 0 to 1. */
    | { readonly kind: "share"; readonly share: number };
}

/** The text is not a threshold. */
export class ThresholdFault extends Error {
  override readonly name = "ThresholdFault";
}

type Written = Readonly<Record<string, string>>;

/** "0%" and "100%" turn a signal off. */
export function parseThresholds(written: Written): readonly EvictionThreshold[] {
  return Object.entries(written).flatMap(([name, text]): readonly EvictionThreshold[] => {
    const signal = signalOf(name);
    if (!text.endsWith("%")) return [{ signal, value: { kind: "amount", amount: amountOf(signal, text) } }];
    if (text === "0%" || text === "100%") return [];
    const share = percentage(text);
    if (share < 0) throw new ThresholdFault(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
    if (share > 1) throw new ThresholdFault(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
    return [{ signal, value: { kind: "share", share } }];
  });
}

export function parseSoftThresholds(
  written: Written,
  graces: Written,
): readonly (EvictionThreshold & { readonly graceMs: number })[] {
  const graceMs = new Map(Object.entries(graces).map(([name, text]) => [signalOf(name), graceOf(text)]));
  return parseThresholds(written).map((threshold) => {
    const grace = graceMs.get(threshold.signal);
    if (grace !== undefined) return { ...threshold, graceMs: grace };
    throw new ThresholdFault(`grace period must be specified for the soft eviction threshold ${threshold.signal}`);
  });
}

/** Validates evictionMinimumReclaim, which has no other use until eviction is implemented. */
export function requireReclaims(written: Written): void {
  for (const [name, text] of Object.entries(written)) {
    const signal = signalOf(name);
    if (text.endsWith("%") && percentage(text) <= 0) {
      throw new ThresholdFault(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`);
    }
    if (!text.endsWith("%") && parseQuantity(text).nanos < 0n) {
      throw new ThresholdFault(`negative eviction minimum reclaim specified for ${signal}`);
    }
  }
}

function signalOf(name: string): EvictionSignal {
  const signal = SIGNALS.find((known) => known === name);
  if (signal === undefined) throw new ThresholdFault(`unsupported eviction signal ${name}`);
  return signal;
}

function amountOf(signal: EvictionSignal, text: string): bigint {
  const quantity = parseQuantity(text);
  if (quantity.nanos > 0n) return quantityValue(quantity);
  throw new ThresholdFault(`eviction threshold ${signal} must be positive: ${formatQuantity(quantity)}`);
}

function percentage(text: string): number {
  const digits = text.replace(/%+$/, "");
  const value = digits.trim() === digits && digits !== "" ? Number(digits) : Number.NaN;
  if (Number.isFinite(value)) return value / 100;
  throw new ThresholdFault(`strconv.ParseFloat: parsing ${goQuote(digits)}: invalid syntax`);
}

function graceOf(text: string): number {
  const graceNs = parseGoDuration(text);
  if (graceNs < 0n) {
    throw new ThresholdFault(`invalid eviction grace period specified: ${text}, must be a positive value`);
  }
  return toMs(graceNs);
}
