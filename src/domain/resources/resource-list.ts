/** Quantities by resource name, parsed once from the API's text. */
import { addQuantities, compareQuantities, parseQuantity, type Quantity } from "../../base/quantity.ts";

export type ResourceList = ReadonlyMap<string, Quantity>;

export const NONE: ResourceList = new Map();

export const HUGEPAGES_PREFIX = "hugepages-";

/** Throws a `QuantityError` that names the text if it is not a quantity. */
export function parseResourceList(texts: Readonly<Record<string, string>> | undefined): ResourceList {
  return new Map(Object.entries(texts ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

export function addLists(a: ResourceList, b: ResourceList): ResourceList {
  return combine(a, b, addQuantities);
}

/** The larger quantity of each resource. */
export function maxLists(a: ResourceList, b: ResourceList): ResourceList {
  return combine(a, b, (x, y) => (compareQuantities(y, x) > 0 ? y : x));
}

function combine(a: ResourceList, b: ResourceList, join: (x: Quantity, y: Quantity) => Quantity): ResourceList {
  const result = new Map(a);
  for (const [name, quantity] of b) {
    const present = result.get(name);
    result.set(name, present === undefined ? quantity : join(present, quantity));
  }
  return result;
}

/** Whether the amount is zero; absent counts as zero. */
export const isNone = (list: ResourceList, name: string) => (list.get(name)?.nanos ?? 0n) === 0n;
