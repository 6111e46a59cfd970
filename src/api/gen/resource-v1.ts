// Generated from the API server's OpenAPI documents by tools/generate/api-types.ts. Do not edit.

import type { NodeSelector } from "./core-v1.ts";
import type { Condition, ObjectMeta } from "./meta-v1.ts";

export interface AllocatedDeviceStatus {
  readonly conditions?: readonly Condition[];
  readonly data?: unknown;
  readonly device: string;
  readonly driver: string;
  readonly networkData?: NetworkDeviceData;
  readonly pool: string;
  readonly shareID?: string;
}

export interface AllocationResult {
  readonly allocationTimestamp?: string;
  readonly devices?: DeviceAllocationResult;
  readonly nodeSelector?: NodeSelector;
}

export interface CELDeviceSelector {
  readonly expression: string;
}

export interface CapacityRequestPolicy {
  readonly default?: string;
  readonly validRange?: CapacityRequestPolicyRange;
  readonly validValues?: readonly string[];
}

export interface CapacityRequestPolicyRange {
  readonly max?: string;
  readonly min: string;
  readonly step?: string;
}

export interface CapacityRequirements {
  readonly requests?: Readonly<Record<string, string>>;
}

export interface Counter {
  readonly value: string;
}

export interface CounterSet {
  readonly counters: Readonly<Record<string, Counter>>;
  readonly name: string;
}

export interface Device {
  readonly allNodes?: boolean;
  readonly allowMultipleAllocations?: boolean;
  readonly attributes?: Readonly<Record<string, DeviceAttribute>>;
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
  readonly bindsToNode?: boolean;
  readonly capacity?: Readonly<Record<string, DeviceCapacity>>;
  readonly consumesCounters?: readonly DeviceCounterConsumption[];
  readonly name: string;
  readonly nodeAllocatableResourceMappings?: Readonly<Record<string, NodeAllocatableResourceMapping>>;
  readonly nodeName?: string;
  readonly nodeSelector?: NodeSelector;
  readonly taints?: readonly DeviceTaint[];
}

export interface DeviceAllocationConfiguration {
  readonly opaque?: OpaqueDeviceConfiguration;
  readonly requests?: readonly string[];
  readonly source: string;
}

export interface DeviceAllocationResult {
  readonly config?: readonly DeviceAllocationConfiguration[];
  readonly results?: readonly DeviceRequestAllocationResult[];
}

export interface DeviceAttribute {
  readonly bool?: boolean;
  readonly bools?: readonly boolean[];
  readonly int?: number;
  readonly ints?: readonly number[];
  readonly string?: string;
  readonly strings?: readonly string[];
  readonly version?: string;
  readonly versions?: readonly string[];
}

export interface DeviceCapacity {
  readonly requestPolicy?: CapacityRequestPolicy;
  readonly value: string;
}

export interface DeviceClaim {
  readonly config?: readonly DeviceClaimConfiguration[];
  readonly constraints?: readonly DeviceConstraint[];
  readonly requests?: readonly DeviceRequest[];
}

export interface DeviceClaimConfiguration {
  readonly opaque?: OpaqueDeviceConfiguration;
  readonly requests?: readonly string[];
}

export interface DeviceConstraint {
  readonly distinctAttribute?: string;
  readonly matchAttribute?: string;
  readonly requests?: readonly string[];
}

export interface DeviceCounterConsumption {
  readonly counterSet: string;
  readonly counters: Readonly<Record<string, Counter>>;
}

export interface DeviceRequest {
  readonly exactly?: ExactDeviceRequest;
  readonly firstAvailable?: readonly DeviceSubRequest[];
  readonly name: string;
}

export interface DeviceRequestAllocationResult {
  readonly adminAccess?: boolean;
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
  readonly consumedCapacity?: Readonly<Record<string, string>>;
  readonly device: string;
  readonly driver: string;
  readonly pool: string;
  readonly request: string;
  readonly shareID?: string;
  readonly tolerations?: readonly DeviceToleration[];
}

export interface DeviceSelector {
  readonly cel?: CELDeviceSelector;
}

export interface DeviceSubRequest {
  readonly allocationMode?: string;
  readonly capacity?: CapacityRequirements;
  readonly count?: number;
  readonly deviceClassName: string;
  readonly name: string;
  readonly selectors?: readonly DeviceSelector[];
  readonly tolerations?: readonly DeviceToleration[];
}

export interface DeviceTaint {
  readonly effect: string;
  readonly key: string;
  readonly timeAdded?: string;
  readonly value?: string;
}

export interface DeviceToleration {
  readonly effect?: string;
  readonly key?: string;
  readonly operator?: string;
  readonly tolerationSeconds?: number;
  readonly value?: string;
}

export interface ExactDeviceRequest {
  readonly adminAccess?: boolean;
  readonly allocationMode?: string;
  readonly capacity?: CapacityRequirements;
  readonly count?: number;
  readonly deviceClassName: string;
  readonly selectors?: readonly DeviceSelector[];
  readonly tolerations?: readonly DeviceToleration[];
}

export interface NetworkDeviceData {
  readonly hardwareAddress?: string;
  readonly interfaceName?: string;
  readonly ips?: readonly string[];
}

export interface NodeAllocatableResourceMapping {
  readonly allocationMultiplier?: string;
  readonly capacityKey?: string;
}

export interface OpaqueDeviceConfiguration {
  readonly driver: string;
  readonly parameters: unknown;
}

export interface ResourceClaim {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec: ResourceClaimSpec;
  readonly status?: ResourceClaimStatus;
}

export interface ResourceClaimConsumerReference {
  readonly apiGroup?: string;
  readonly name: string;
  readonly resource: string;
  readonly uid: string;
}

export interface ResourceClaimSpec {
  readonly devices?: DeviceClaim;
}

export interface ResourceClaimStatus {
  readonly allocation?: AllocationResult;
  readonly devices?: readonly AllocatedDeviceStatus[];
  readonly reservedFor?: readonly ResourceClaimConsumerReference[];
}

export interface ResourcePool {
  readonly generation: number;
  readonly name: string;
  readonly resourceSliceCount: number;
}

export interface ResourceSlice {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec: ResourceSliceSpec;
}

export interface ResourceSliceSpec {
  readonly allNodes?: boolean;
  readonly devices?: readonly Device[];
  readonly driver: string;
  readonly nodeName?: string;
  readonly nodeSelector?: NodeSelector;
  readonly perDeviceNodeSelection?: boolean;
  readonly pool: ResourcePool;
  readonly sharedCounters?: readonly CounterSet[];
}
