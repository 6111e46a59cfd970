// Generated from the API server's OpenAPI documents by tools/generate/api-types.ts. Do not edit.

import type { PersistentVolumeSpec, TopologySelectorTerm } from "./core-v1.ts";
import type { ObjectMeta } from "./meta-v1.ts";

export interface CSIDriver {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec: CSIDriverSpec;
}

export interface CSIDriverSpec {
  readonly attachRequired?: boolean;
  readonly fsGroupPolicy?: string;
  readonly nodeAllocatableUpdatePeriodSeconds?: number;
  readonly podInfoOnMount?: boolean;
  readonly preventPodSchedulingIfMissing?: boolean;
  readonly requiresRepublish?: boolean;
  readonly seLinuxMount?: boolean;
  readonly serviceAccountTokenInSecrets?: boolean;
  readonly storageCapacity?: boolean;
  readonly tokenRequests?: readonly TokenRequest[];
  readonly volumeLifecycleModes?: readonly string[];
}

export interface CSINode {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec: CSINodeSpec;
}

export interface CSINodeDriver {
  readonly allocatable?: VolumeNodeResources;
  readonly name: string;
  readonly nodeID: string;
  readonly topologyKeys?: readonly string[];
}

export interface CSINodeSpec {
  readonly drivers: readonly CSINodeDriver[];
}

export interface StorageClass {
  readonly allowVolumeExpansion?: boolean;
  readonly allowedTopologies?: readonly TopologySelectorTerm[];
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly mountOptions?: readonly string[];
  readonly parameters?: Readonly<Record<string, string>>;
  readonly provisioner: string;
  readonly reclaimPolicy?: string;
  readonly volumeBindingMode?: string;
}

export interface TokenRequest {
  readonly audience: string;
  readonly expirationSeconds?: number;
}

export interface VolumeAttachment {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec: VolumeAttachmentSpec;
  readonly status?: VolumeAttachmentStatus;
}

export interface VolumeAttachmentSource {
  readonly inlineVolumeSpec?: PersistentVolumeSpec;
  readonly persistentVolumeName?: string;
}

export interface VolumeAttachmentSpec {
  readonly attacher: string;
  readonly nodeName: string;
  readonly source: VolumeAttachmentSource;
}

export interface VolumeAttachmentStatus {
  readonly attachError?: VolumeError;
  readonly attached: boolean;
  readonly attachmentMetadata?: Readonly<Record<string, string>>;
  readonly detachError?: VolumeError;
}

export interface VolumeError {
  readonly errorCode?: number;
  readonly message?: string;
  readonly time?: string;
}

export interface VolumeNodeResources {
  readonly count?: number;
}
