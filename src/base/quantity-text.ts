/** Quantities as text that may be invalid. */
import { formatQuantity, parseQuantity, type Quantity, QuantityError } from "./quantity.ts";

export function quantityOf(text: string): Quantity | undefined {
  try {
    return parseQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

/** The canonical text that the API server stores for `text`; undefined if it is invalid. */
export function canonicalQuantity(text: string): string | undefined {
  const quantity = quantityOf(text);
  return quantity === undefined ? undefined : formatQuantity(quantity);
}

const NANOS_PER_MILLI = 1_000_000n;

/** Resources have a resolution of one thousandth. Rounds away from zero. */
export function roundUpToMilli(quantity: Quantity): Quantity {
  const rest = quantity.nanos % NANOS_PER_MILLI;
  if (rest === 0n) return quantity;
  const up = rest > 0n ? NANOS_PER_MILLI : -NANOS_PER_MILLI;
  return { ...quantity, nanos: quantity.nanos - rest + up };
}
