// Generated from the API server's OpenAPI documents by tools/generate/api-types.ts. Do not edit.

import type { FieldSelectorRequirement, LabelSelectorRequirement, ObjectMeta } from "./meta-v1.ts";

export interface FieldSelectorAttributes {
  readonly rawSelector?: string;
  readonly requirements?: readonly FieldSelectorRequirement[];
}

export interface LabelSelectorAttributes {
  readonly rawSelector?: string;
  readonly requirements?: readonly LabelSelectorRequirement[];
}

export interface NonResourceAttributes {
  readonly path?: string;
  readonly verb?: string;
}

export interface ResourceAttributes {
  readonly fieldSelector?: FieldSelectorAttributes;
  readonly group?: string;
  readonly labelSelector?: LabelSelectorAttributes;
  readonly name?: string;
  readonly namespace?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly verb?: string;
  readonly version?: string;
}

export interface SubjectAccessReview {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec: SubjectAccessReviewSpec;
  readonly status?: SubjectAccessReviewStatus;
}

export interface SubjectAccessReviewSpec {
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly groups?: readonly string[];
  readonly nonResourceAttributes?: NonResourceAttributes;
  readonly resourceAttributes?: ResourceAttributes;
  readonly uid?: string;
  readonly user?: string;
}

export interface SubjectAccessReviewStatus {
  readonly allowed: boolean;
  readonly denied?: boolean;
  readonly evaluationError?: string;
  readonly reason?: string;
}
