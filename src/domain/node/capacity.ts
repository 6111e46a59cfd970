/** What a node has to give: the amounts in its status, each in the canonical form of a quantity. */
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

/** What others advertise on the Node stays; of our own only what the machine has. */
export function mergedCapacity(existing: ResourceAmounts, own: ResourceAmounts): ResourceAmounts {
  const others = Object.entries(existing).filter(([name]) => !name.startsWith("hugepages-"));
  return { ...Object.fromEntries(others), ...own };
}

/** Such as `example.com/gpu`: neither the API's own nor in its namespace. */
export const isExtendedResource = (name: string) =>
  name.includes("/") && !name.includes("kubernetes.io/") && !name.startsWith("requests.");

const binaryQuantity = (value: bigint) => formatQuantity(wholeQuantity(value, "BinarySI"));
const decimalQuantity = (value: bigint) => formatQuantity(wholeQuantity(value, "DecimalSI"));
