/**
 * Which traces are sampled: those whose parent was sampled, and a number per million of new traces, selected by their
 * ID.
 */
import type { SpanContext } from "./span.ts";

/** The range of the compared part of a trace ID: 63 bits. */
const WHOLE = 2n ** 63n;
const MILLION = 1_000_000;

/** The result depends only on the ID: programs with the same rate sample the same traces. */
export function isSampled(traceId: string, perMillion: number, parent: SpanContext | undefined): boolean {
  if (parent !== undefined) return parent.sampled;
  if (perMillion >= MILLION) return true;
  if (perMillion <= 0) return false;
  const drawn = BigInt(`0x${traceId.slice(16)}`) >> 1n;
  // Computed from a fraction, as others do: the bound must equal theirs to the last bit.
  return drawn < BigInt(Math.trunc((perMillion / MILLION) * Number(WHOLE)));
}
