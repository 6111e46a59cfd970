/** The node's settings, derived from flags and configuration. */
import { parseIp } from "../base/ip-address.ts";
import { formatQuantity, parseQuantity, type Quantity, quantityValue } from "../base/quantity.ts";
import { type MachineSize, machineCapacity } from "../domain/node/capacity.ts";
import type { RegistrationOptions } from "../domain/node/initial-node.ts";
import type { NodeOptions } from "../domain/node/node-status.ts";
import {
  type HardThresholds,
  nodeAllocatable,
  type Reservations,
  reservationFault,
} from "../domain/resources/node-allocatable.ts";
import { parseResourceList, type ResourceList } from "../domain/resources/resource-list.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import { ARCHITECTURE, KUBERNETES_VERSION } from "./version.ts";

/** The operator's settings for a Node that does not exist yet. */
export const registrationOf = ({ node }: CompiledOptions): RegistrationOptions => ({
  labels: node.labels,
  taints: node.taints.map(({ timeAdded, ...taint }) => ({
    ...taint,
    ...(timeAdded === undefined ? {} : { timeAdded }),
  })),
  providerId: node.providerId,
  controllerAttach: node.controllerAttach,
  resetExtendedResources: false,
});

export function nodeOptions(options: CompiledOptions): NodeOptions {
  const { node } = options;
  return {
    name: node.name,
    hostname: node.name,
    nodeIps: node.ips.map((text) => parseIp(text)).filter((ip) => ip !== undefined),
    externalCloud: node.externalCloud,
    maxPods: node.podsMax,
    podsPerCore: node.podsPerCore,
    kubeletVersion: KUBERNETES_VERSION,
    architecture: ARCHITECTURE,
    kubeletPort: options.server.port,
    imagesMax: node.imagesMax,
    localStorage: node.localStorage,
    featureGates: options.gates,
    allocatableOf: (capacity) => allocatableOf(capacity, options),
  };
}

/** The part of the machine's memory that is allocatable to pods. */
export function allocatableMemoryBytes(machine: MachineSize, options: CompiledOptions): bigint {
  const amounts = allocatableOf(machineCapacity(machine, undefined, nodeOptions(options)), options);
  return quantityValue(parseQuantity(amounts["memory"] ?? "0"));
}

function allocatableOf(
  capacity: Readonly<Record<string, string>>,
  options: CompiledOptions,
): Readonly<Record<string, string>> {
  const allocatable = nodeAllocatable(parseResourceList(capacity), reservationsOf(options), thresholdsOf(options));
  return Object.fromEntries([...allocatable].map(([name, quantity]) => [name, formatQuantity(quantity)]));
}

/** What is kept from pods by the hard eviction thresholds. */
const thresholdsOf = ({ eviction: { hard, outOfAllocatable } }: CompiledOptions): HardThresholds =>
  new Map(outOfAllocatable ? hard.map(({ signal, value }) => [signal, value]) : []);

/** Why the agent does not start on this machine: more of it is reserved than it has. Undefined if it starts. */
export function capacityFault(machine: MachineSize, options: CompiledOptions): string | undefined {
  if (!options.compatibility.misconfigurationIsFatal) return undefined;
  const capacity = parseResourceList(machineCapacity(machine, undefined, nodeOptions(options)));
  const fault = reservationFault(capacity, reservationsOf(options), thresholdsOf(options));
  return fault === undefined ? undefined : `Failed to start ContainerManager: ${fault}`;
}

export function reservationsOf({ reserved }: CompiledOptions): Reservations {
  const list = (amounts: Readonly<Record<string, Quantity>>): ResourceList => new Map(Object.entries(amounts));
  return { kubeReserved: list(reserved.kube), systemReserved: list(reserved.system) };
}
