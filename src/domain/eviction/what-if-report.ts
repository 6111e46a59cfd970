/**
 * The question and the answer of `deckhand eviction what-if`: amounts per signal, as quantities or percentages of the
 * capacity, and the pods that would be evicted in their order.
 */
import { assert } from "../../base/assert.ts";
import { parseQuantity, QuantityError, quantityValue } from "../../base/quantity.ts";
import { isSignal, type Observations, type Signal } from "../node/pressure.ts";
import { keyOf } from "../pod/pod-identity.ts";
import type { RankedPod } from "./choose-victims.ts";
import { measurementOf } from "./measurement.ts";
import type { MemorySignal } from "./memory-signal.ts";
import type { WhatIfAnswer } from "./what-if.ts";

export interface WhatIfReport {
  /** The signals whose thresholds would be met, the most urgent first. */
  readonly met: readonly {
    readonly signal: string;
    readonly available: string;
    readonly threshold: string;
    readonly graceSeconds: number;
  }[];
  /** What would be removed before the first pod. */
  readonly reclaims: readonly string[];
  /** "namespace/name", the first to be evicted first. One pod is evicted at a time, until the shortage ends. */
  readonly victims: readonly string[];
  readonly ranking: readonly RankedPod[];
}

export const NOTHING_MET: WhatIfReport = { met: [], reclaims: [], victims: [], ranking: [] };

/** An amount that cannot be used; the message names it. */
export class AmountFault extends Error {
  override readonly name = "AmountFault";
}

/** Throws AmountFault. */
export function hypotheticalAmounts(
  asked: readonly (readonly [signal: string, amount: string])[],
  observations: Observations,
): ReadonlyMap<Signal, bigint> {
  return new Map(
    asked.map(([signal, amount]) => {
      if (!isSignal(signal)) throw new AmountFault(`${signal} is not an eviction signal`);
      const observation = observations.get(signal);
      if (observation === undefined)
        throw new AmountFault(`${signal} is not measured on this node: no threshold of the agent needs it`);
      return [signal, amountOf(amount, observation.capacity)];
    }),
  );
}

function amountOf(text: string, capacity: bigint): bigint {
  const percent = /^(?<number>\d+(?:\.\d+)?)%$/.exec(text)?.groups?.["number"];
  if (percent !== undefined) return BigInt(Math.trunc((Number(capacity) * Number(percent)) / 100));
  const amount = quantityOf(text);
  if (amount < 0n) throw new AmountFault(`${text} is negative`);
  return amount;
}

function quantityOf(text: string): bigint {
  try {
    return quantityValue(parseQuantity(text));
  } catch (error) {
    if (error instanceof QuantityError) throw new AmountFault(`${text}: ${error.message}`);
    throw error;
  }
}

export function whatIfReport(answer: WhatIfAnswer | undefined, memorySignal: MemorySignal): WhatIfReport {
  if (answer === undefined) return NOTHING_MET;
  return {
    met: answer.met.map((threshold) => {
      const measured = measurementOf(threshold, answer.observations, memorySignal);
      const { signal, graceMs } = threshold;
      return {
        signal,
        available: measured?.available ?? "",
        threshold: measured?.threshold ?? "",
        graceSeconds: graceMs / 1000,
      };
    }),
    reclaims: answer.reclaims,
    victims: answer.victims.map(({ pod }) => keyOf(pod)),
    ranking: answer.ranking,
  };
}

/** Reads the report as the agent sent it. */
export function parseWhatIfReport(body: string): WhatIfReport {
  const parsed: unknown = JSON.parse(body);
  assert(
    typeof parsed === "object" && parsed !== null && "met" in parsed && "victims" in parsed && "ranking" in parsed,
    "the agent's answer is no report of what eviction would do",
  );
  return parsed as WhatIfReport;
}

export function whatIfText({ met, reclaims, victims, ranking }: WhatIfReport): string {
  if (met.length === 0) return "No threshold would be met: nothing would be evicted.\n";
  const lines = met.map(({ signal, available, threshold, graceSeconds }) => {
    const grace = graceSeconds === 0 ? "" : ` for ${graceSeconds} s`;
    return `${signal}: ${available} available, the threshold is ${threshold}${grace}`;
  });
  if (reclaims.length > 0) lines.push(`First, unused ${reclaims.join(" and ")} would be removed.`);
  lines.push(
    victims.length === 0
      ? "No pod could be evicted."
      : "Pods would be evicted in this order, one at a time, until the shortage ends:",
  );
  for (const [index, name] of victims.entries())
    lines.push(`${String(index + 1).padStart(4)}. ${name}${numbers(name, ranking)}`);
  const kept = ranking.filter(({ evictable }) => !evictable).map(({ pod }) => pod);
  if (kept.length > 0) lines.push(`Never evicted: ${kept.join(", ")}`);
  return `${lines.join("\n")}\n`;
}

function numbers(name: string, ranking: readonly RankedPod[]): string {
  const row = ranking.find(({ pod }) => pod === name);
  if (row === undefined) return "";
  const { usage = "unknown", request, priority } = row;
  return ` (usage ${usage}, request ${request}, priority ${priority})`;
}
