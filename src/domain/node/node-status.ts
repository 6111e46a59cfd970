/**
 * Computes the current content of the Node: the known copy, with all of our fields updated. Everything that others
 * maintain (their conditions, their resources, `volumesAttached`) stays unchanged.
 */
import type { Node, NodeStatus } from "../../api/gen/core-v1.ts";
import { withoutField } from "../../base/json-equal.ts";
import { type QosCgroupState, qosCgroupTroubles } from "../resources/qos-cgroup-state.ts";
import type { Image } from "../runtime/image.ts";
import { type AddressDecision, type AddressOptions, providedNodeIp } from "./addresses.ts";
import {
  type CapacityOptions,
  type MachineSize,
  machineCapacity,
  mergedCapacity,
  type ResourceAmounts,
} from "./capacity.ts";
import { nodeConditions, type Pressure } from "./conditions.ts";
import { declaredFeatures } from "./declared-features.ts";
import { reportedImages } from "./images.ts";
import { type AgentIdentity, type MachineIdentity, nodeInfo, wasRebooted } from "./node-info.ts";
import { reportedFeatures, reportedHandlers } from "./runtime-handlers.ts";
import { networkTroubles, type RuntimeHealth, runtimeTroubles } from "./runtime-health.ts";

export interface NodeOptions extends AddressOptions, CapacityOptions, AgentIdentity {
  readonly name: string;
  readonly kubeletPort: number;
  /** -1: all. */
  readonly imagesMax: number;
  /** Whether local storage is a resource of the node. */
  readonly localStorage: boolean;
  readonly featureGates: Readonly<Record<string, boolean>>;
  /** The part of the capacity that is allocatable to pods. */
  readonly allocatableOf: (capacity: ResourceAmounts) => ResourceAmounts;
}

/** The inputs of an update, read once. */
export interface NodeSnapshot {
  readonly nowWallMs: number;
  /** Undefined while it cannot be read. */
  readonly machine: (MachineSize & MachineIdentity) | undefined;
  readonly rootBytes: bigint | undefined;
  readonly addresses: AddressDecision;
  readonly runtime: RuntimeHealth;
  readonly pressure: Pressure;
  /** Undefined until the first listing. */
  readonly images: readonly Image[] | undefined;
  /** Undefined until the mounted volumes are known. */
  readonly volumesInUse: readonly string[] | undefined;
  readonly notReadyReasons: NotReadyReasons;
  readonly qosCgroups: QosCgroupState;
}

/** What keeps a node from being ready besides its runtime, each in a sentence; undefined: nothing. */
export interface NotReadyReasons {
  readonly storage: string | undefined;
  readonly shutdown: string | undefined;
}

export const NO_NOT_READY_REASONS: NotReadyReasons = { storage: undefined, shutdown: undefined };

/**
 * Whether the Node reports its allocatable resources. A Node that does not was created while the machine could not be
 * read.
 */
export const isComplete = ({ status }: Node): boolean => status?.allocatable?.["pods"] !== undefined;

export interface NodeEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export interface NodeUpdate {
  readonly node: Node;
  /** The events to emit once the Node is written. */
  readonly events: readonly NodeEvent[];
}

export function updatedNode(known: Node, snapshot: NodeSnapshot, options: NodeOptions): NodeUpdate {
  const { machine } = snapshot;
  const previous: NodeStatus = known.status ?? {};
  const own = machine === undefined ? {} : machineCapacity(machine, localBytes(snapshot, options), options);
  const capacity = machine === undefined ? (previous.capacity ?? {}) : mergedCapacity(previous.capacity ?? {}, own);
  const notReady = notReadyMessages(snapshot, capacity, options.localStorage);
  const { conditions, changes } = nodeConditions(previous.conditions ?? [], { ...snapshot, notReady });
  const runtime = snapshot.runtime.kind === "answered" ? snapshot.runtime.version : undefined;
  const status: NodeStatus = {
    ...previous,
    ...(snapshot.addresses.kind === "set" ? { addresses: snapshot.addresses.addresses } : {}),
    capacity,
    allocatable: options.allocatableOf(capacity),
    conditions,
    daemonEndpoints: { kubeletEndpoint: { Port: options.kubeletPort } },
    nodeInfo: nodeInfo(previous.nodeInfo, machine, runtime, options),
    ...(snapshot.images === undefined ? {} : { images: reportedImages(snapshot.images, options.imagesMax) }),
    ...(snapshot.volumesInUse === undefined ? {} : { volumesInUse: [...new Set(snapshot.volumesInUse)].sort() }),
  };
  const optional = {
    runtimeHandlers: reportedHandlers(snapshot.runtime, previous.runtimeHandlers),
    features: reportedFeatures(snapshot.runtime, previous.features),
    declaredFeatures: declaredFeatures(options.featureGates),
  };
  return {
    node: { ...known, metadata: updatedMetadata(known, options), status: withFields(status, optional) },
    events: [
      ...(wasRebooted(previous.nodeInfo, machine) ? [rebooted(options.name, machine?.bootId ?? "")] : []),
      ...changes.map((reason) => statusEvent(options.name, reason)),
    ],
  };
}

/** `Node n1 status is now: NodeReady`. */
export const statusEvent = (nodeName: string, reason: string): NodeEvent => ({
  type: "Normal",
  reason,
  message: `Node ${nodeName} status is now: ${reason}`,
});

const rebooted = (nodeName: string, bootId: string): NodeEvent => ({
  type: "Warning",
  reason: "Rebooted",
  message: `Node ${nodeName} has been rebooted, boot id: ${bootId}`,
});

/** In the order of the Ready condition's message; empty when the node is ready. */
export function notReadyMessages(
  { runtime, qosCgroups, notReadyReasons }: Pick<NodeSnapshot, "runtime" | "qosCgroups" | "notReadyReasons">,
  capacity: ResourceAmounts,
  localStorage: boolean,
): readonly string[] {
  const needed = ["cpu", "memory", "pods", ...(localStorage ? ["ephemeral-storage"] : [])];
  const missing = needed.filter((name) => capacity[name] === undefined);
  return [
    ...runtimeTroubles(runtime),
    ...networkTroubles(runtime),
    ...qosCgroupTroubles(qosCgroups),
    ...[notReadyReasons.storage, notReadyReasons.shutdown].filter((reason) => reason !== undefined),
    ...(missing.length === 0 ? [] : [`missing node capacity for resources: ${missing.join(", ")}`]),
  ];
}

/** The size of the disk is reported only if local storage is a resource. */
const localBytes = ({ rootBytes }: NodeSnapshot, { localStorage }: NodeOptions) =>
  localStorage ? rootBytes : undefined;

const PROVIDED_NODE_IP = "alpha.kubernetes.io/provided-node-ip";

function updatedMetadata(known: Node, options: NodeOptions): NonNullable<Node["metadata"]> {
  const annotations = withoutField(known.metadata?.annotations ?? {}, PROVIDED_NODE_IP);
  const provided = providedNodeIp(options);
  return {
    ...known.metadata,
    labels: { ...known.metadata?.labels, "kubernetes.io/os": "linux", "kubernetes.io/arch": options.architecture },
    annotations: provided === undefined ? annotations : { ...annotations, [PROVIDED_NODE_IP]: provided },
  };
}

/** Removes fields without a value. */
function withFields(status: NodeStatus, fields: Partial<Record<keyof NodeStatus, unknown>>): NodeStatus {
  const all = Object.entries({ ...status, ...fields });
  return Object.fromEntries(all.filter(([, value]) => value !== undefined));
}
