/** Which traces are kept: those whose beginning was, and of those that begin here so many of a million, picked by their id. */
import type { SpanContext } from "./span.ts";

/** What a trace's id is compared with: 63 bits. */
const WHOLE = 2n ** 63n;
const MILLION = 1_000_000;

/** The same answer for the same id everywhere: programs that sample alike keep the same traces. */
export function isSampled(traceId: string, perMillion: number, parent: SpanContext | undefined): boolean {
  if (parent !== undefined) return parent.sampled;
  if (perMillion >= MILLION) return true;
  if (perMillion <= 0) return false;
  const drawn = BigInt(`0x${traceId.slice(16)}`) >> 1n;
  // By way of a fraction, as others do it: the bound must be theirs to the last bit.
  return drawn < BigInt(Math.trunc((perMillion / MILLION) * Number(WHOLE)));
}
