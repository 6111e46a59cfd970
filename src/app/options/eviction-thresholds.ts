/** Parses thresholds: "memory.available": "100Mi" or "10%" becomes an amount or a share. */
import { parseGoDuration } from "../../base/duration.ts";
import { goQuote } from "../../base/go-text.ts";
import { formatQuantity, parseQuantity, type Quantity } from "../../base/quantity.ts";
import type { Threshold } from "../../domain/eviction/thresholds.ts";
import { isSignal, type Signal } from "../../domain/node/pressure.ts";
import type { ThresholdValue } from "../../domain/resources/node-allocatable.ts";
import { toMs } from "./value-types.ts";

/** The text is not a threshold. */
export class ThresholdFault extends Error {
  override readonly name = "ThresholdFault";
}

type Written = Readonly<Record<string, string>>;

/** "0%" and "100%" turn a signal off. */
export function parseThresholds(written: Written): readonly Threshold[] {
  return Object.entries(written).flatMap(([name, text]): readonly Threshold[] => {
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
): readonly (Threshold & { readonly graceMs: number })[] {
  const graceMs = new Map(Object.entries(graces).map(([name, text]) => [signalOf(name), graceOf(text)]));
  return parseThresholds(written).map((threshold) => {
    const grace = graceMs.get(threshold.signal);
    if (grace !== undefined) return { ...threshold, graceMs: grace };
    throw new ThresholdFault(`grace period must be specified for the soft eviction threshold ${threshold.signal}`);
  });
}

/** The minimum reclaim of each signal. */
export function parseReclaims(written: Written): ReadonlyMap<Signal, ThresholdValue> {
  return new Map(Object.entries(written).map(([name, text]) => [signalOf(name), reclaimOf(name, text)]));
}

function reclaimOf(name: string, text: string): ThresholdValue {
  if (!text.endsWith("%")) {
    const amount = parseQuantity(text);
    if (amount.nanos >= 0n) return { kind: "amount", amount };
    throw new ThresholdFault(`negative eviction minimum reclaim specified for ${name}`);
  }
  const share = percentage(text);
  if (share > 0) return { kind: "share", share };
  throw new ThresholdFault(`eviction percentage minimum reclaim ${name} must be positive: ${text}`);
}

function signalOf(name: string): Signal {
  if (isSignal(name)) return name;
  throw new ThresholdFault(`unsupported eviction signal ${name}`);
}

function amountOf(signal: Signal, text: string): Quantity {
  const quantity = parseQuantity(text);
  if (quantity.nanos > 0n) return quantity;
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
