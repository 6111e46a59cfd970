/** Huge page sizes as the API ("hugepages-2Mi") and the kernel ("2MB") spell them. */
import { formatQuantity, parseQuantity, quantityValue, wholeQuantity } from "../../base/quantity.ts";
import { HUGEPAGES_PREFIX, type ResourceList } from "./resource-list.ts";

const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"] as const;

export function kernelPageSize(pageBytes: bigint): string {
  let [left, unit] = [pageBytes, 0];
  while (left % 1024n === 0n && unit < UNITS.length - 1) [left, unit] = [left / 1024n, unit + 1];
  return `${left}${UNITS[unit]}`;
}

export const hugepagesResource = (pageBytes: bigint) =>
  `${HUGEPAGES_PREFIX}${formatQuantity(wholeQuantity(pageBytes, "BinarySI"))}`;

/** Bytes by the kernel's name of the page size, for all sizes in the list. */
export function hugepageBytes(list: ResourceList): ReadonlyMap<string, bigint> {
  const bytes = new Map<string, bigint>();
  for (const [name, quantity] of list) {
    if (!name.startsWith(HUGEPAGES_PREFIX)) continue;
    const size = kernelPageSize(quantityValue(parseQuantity(name.slice(HUGEPAGES_PREFIX.length))));
    bytes.set(size, (bytes.get(size) ?? 0n) + quantityValue(quantity));
  }
  return bytes;
}

/** Every page size of the machine gets a limit; it is 0 if none is requested. */
export function hugepageLimits(
  sizes: readonly string[],
  wanted: ReadonlyMap<string, bigint>,
): ReadonlyMap<string, bigint> {
  return new Map([...sizes.map((size) => [size, 0n] as const), ...wanted]);
}
