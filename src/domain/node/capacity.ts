/** A node's capacity: the amounts in its status, each as a canonical quantity. */
import { formatQuantity, wholeQuantity } from "../../base/quantity.ts";

export type ResourceAmounts = Readonly<Record<string, string>>;

export interface MachineSize {
  readonly cpus: number;
  readonly memoryBytes: bigint;
  /** Pre-allocated bytes by page size in bytes. */
  readonly hugepages: ReadonlyMap<bigint, bigint>;
}

export interface CapacityOptions {
  readonly maxPods: number;
  /** 0: no such limit. */
  readonly podsPerCore: number;
}

/** `rootBytes` is undefined where local storage is not accounted for. */
export function machineCapacity(
  machine: MachineSize,
  rootBytes: bigint | undefined,
  { maxPods, podsPerCore }: CapacityOptions,
): ResourceAmounts {
  const pods = podsPerCore > 0 ? Math.min(machine.cpus * podsPerCore, maxPods) : maxPods;
  const sizes = [...machine.hugepages].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    cpu: decimalQuantity(BigInt(machine.cpus)),
    memory: binaryQuantity(machine.memoryBytes),
    pods: decimalQuantity(BigInt(pods)),
    ...(rootBytes === undefined ? {} : { "ephemeral-storage": binaryQuantity(rootBytes) }),
    ...Object.fromEntries(sizes.map(([page, bytes]) => [`hugepages-${binaryQuantity(page)}`, binaryQuantity(bytes)])),
  };
}

/** Keeps what others advertise on the Node, but removes huge page sizes that the machine no longer has. */
export function mergedCapacity(existing: ResourceAmounts, own: ResourceAmounts): ResourceAmounts {
  const others = Object.entries(existing).filter(([name]) => !name.startsWith("hugepages-"));
  return { ...Object.fromEntries(others), ...own };
}

/** Such as `example.com/gpu`: neither a native resource nor one in the API's own namespace. */
export const isExtendedResource = (name: string) =>
  name.includes("/") && !name.includes("kubernetes.io/") && !name.startsWith("requests.");

const binaryQuantity = (value: bigint) => formatQuantity(wholeQuantity(value, "BinarySI"));
const decimalQuantity = (value: bigint) => formatQuantity(wholeQuantity(value, "DecimalSI"));
