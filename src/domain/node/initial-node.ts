/** The Node as it is first registered, and the fields that are corrected on an existing Node when the agent starts. */
import type { Node, Taint } from "../../api/gen/core-v1.ts";
import { withoutField } from "../../base/json-equal.ts";
import { isExtendedResource, type ResourceAmounts } from "./capacity.ts";
import { machineLabels, OWN_LABELS } from "./node-labels.ts";
import { type NodeOptions, type NodeSnapshot, type NodeUpdate, updatedNode } from "./node-status.ts";

export interface RegistrationOptions {
  /** The operator's labels; they override the machine's own. */
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly GivenTaint[];
  /** Empty: none. */
  readonly providerId: string;
  /** Volumes are attached by a controller, not by the node. */
  readonly controllerAttach: boolean;
  /** Devices were lost since the Node was written, so its extended resources are no longer valid. */
  readonly resetExtendedResources: boolean;
}

export interface GivenTaint {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect: string;
  readonly timeAdded?: string | undefined;
}

const CONTROLLER_ATTACH = "volumes.kubernetes.io/controller-managed-attach-detach";
const UNINITIALIZED: Taint = {
  key: "node.cloudprovider.kubernetes.io/uninitialized",
  value: "true",
  effect: "NoSchedule",
};

export function initialNode(
  registration: RegistrationOptions,
  snapshot: NodeSnapshot,
  options: NodeOptions,
): NodeUpdate {
  const taints = [...registration.taints.map(taintOf), ...(options.externalCloud ? [UNINITIALIZED] : [])];
  const bare: Node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: options.name,
      labels: { ...machineLabels(options.hostname, options.architecture), ...registration.labels },
      annotations: registration.controllerAttach ? { [CONTROLLER_ATTACH]: "true" } : {},
    },
    spec: {
      ...(taints.length === 0 ? {} : { taints }),
      ...(registration.providerId === "" ? {} : { providerID: registration.providerId }),
    },
  };
  return updatedNode(bare, snapshot, options);
}

const taintOf = ({ key, value, effect, timeAdded }: GivenTaint): Taint => ({
  key,
  effect,
  ...(value === undefined ? {} : { value }),
  ...(timeAdded === undefined ? {} : { timeAdded }),
});

/** Taints and the operator's other labels apply to new Nodes only: someone may have changed them on purpose since. */
export function reconciledNode(existing: Node, initial: Node, registration: RegistrationOptions): Node {
  const reset = registration.resetExtendedResources;
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      labels: reconciledLabels(existing.metadata?.labels ?? {}, initial.metadata?.labels ?? {}),
      annotations: reconciledAnnotations(existing.metadata?.annotations ?? {}, registration.controllerAttach),
    },
    status: {
      ...existing.status,
      capacity: reconciledAmounts(existing.status?.capacity, initial.status?.capacity ?? {}, reset),
      allocatable: reconciledAmounts(existing.status?.allocatable, initial.status?.allocatable ?? {}, reset),
    },
  };
}

function reconciledLabels(
  existing: Readonly<Record<string, string>>,
  initial: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const own = OWN_LABELS.filter((label) => initial[label] !== undefined);
  const others = Object.entries(existing).filter(([label]) => !own.includes(label));
  const values = own.map((label) => [label, initial[label] ?? ""] as const).filter(([, value]) => value !== "");
  return Object.fromEntries([...others, ...values]);
}

function reconciledAnnotations(
  existing: Readonly<Record<string, string>>,
  controllerAttach: boolean,
): Readonly<Record<string, string>> {
  const others = withoutField(existing, CONTROLLER_ATTACH);
  return controllerAttach ? { ...others, [CONTROLLER_ATTACH]: "true" } : others;
}

function reconciledAmounts(
  existing: ResourceAmounts | undefined,
  initial: ResourceAmounts,
  reset: boolean,
): ResourceAmounts {
  const isPages = (name: string) => name.startsWith("hugepages-");
  const kept = Object.entries(existing ?? initial)
    .filter(([name]) => !isPages(name))
    .map(([name, amount]) => [name, reset && isExtendedResource(name) ? "0" : amount] as const);
  const pages = Object.entries(initial).filter(([name]) => isPages(name));
  return Object.fromEntries([...kept, ...pages]);
}
