/** Quantities as texts, where a text may turn out to be none. */
import { formatQuantity, parseQuantity, type Quantity, QuantityError } from "./quantity.ts";

export function quantityOf(text: string): Quantity | undefined {
  try {
    return parseQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

/** The text the API server would store for this one. */
export function canonicalQuantity(text: string): string | undefined {
  const quantity = quantityOf(text);
  return quantity === undefined ? undefined : formatQuantity(quantity);
}

const NANOS_PER_MILLI = 1_000_000n;

/** Resources are counted in thousandths at the finest: up, away from zero. */
export function roundUpToMilli(quantity: Quantity): Quantity {
  const rest = quantity.nanos % NANOS_PER_MILLI;
  if (rest === 0n) return quantity;
  const up = rest > 0n ? NANOS_PER_MILLI : -NANOS_PER_MILLI;
  return { ...quantity, nanos: quantity.nanos - rest + up };
}
