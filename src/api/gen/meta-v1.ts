// Generated from the API server's OpenAPI documents by tools/generate/api-types.ts. Do not edit.


export interface Condition {
  readonly lastTransitionTime: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly reason: string;
  readonly status: string;
  readonly type: string;
}

export interface DeleteOptions {
  readonly apiVersion?: string;
  readonly dryRun?: readonly string[];
  readonly gracePeriodSeconds?: number;
  readonly ignoreStoreReadErrorWithClusterBreakingPotential?: boolean;
  readonly kind?: string;
  readonly orphanDependents?: boolean;
  readonly preconditions?: Preconditions;
  readonly propagationPolicy?: string;
}

export interface FieldSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface LabelSelector {
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
  readonly matchLabels?: Readonly<Record<string, string>>;
}

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface ListMeta {
  readonly continue?: string;
  readonly remainingItemCount?: number;
  readonly resourceVersion?: string;
  readonly selfLink?: string;
  readonly shardInfo?: ShardInfo;
}

export interface ManagedFieldsEntry {
  readonly apiVersion?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: unknown;
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly time?: string;
}

export interface ObjectMeta {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly generateName?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly managedFields?: readonly ManagedFieldsEntry[];
  readonly name?: string;
  readonly namespace?: string;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly resourceVersion?: string;
  readonly selfLink?: string;
  readonly uid?: string;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly blockOwnerDeletion?: boolean;
  readonly controller?: boolean;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface Preconditions {
  readonly resourceVersion?: string;
  readonly uid?: string;
}

export interface ShardInfo {
  readonly selector: string;
}

export interface Status {
  readonly apiVersion?: string;
  readonly code?: number;
  readonly details?: StatusDetails;
  readonly kind?: string;
  readonly message?: string;
  readonly metadata?: ListMeta;
  readonly reason?: string;
  readonly status?: string;
}

export interface StatusCause {
  readonly field?: string;
  readonly message?: string;
  readonly reason?: string;
}

export interface StatusDetails {
  readonly causes?: readonly StatusCause[];
  readonly group?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly retryAfterSeconds?: number;
  readonly uid?: string;
}
