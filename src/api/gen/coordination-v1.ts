// Generated from the API server's OpenAPI documents by tools/generate/api-types.ts. Do not edit.

import type { ObjectMeta } from "./meta-v1.ts";

export interface Lease {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: LeaseSpec;
}

export interface LeaseSpec {
  readonly acquireTime?: string;
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly leaseTransitions?: number;
  readonly preferredHolder?: string;
  readonly renewTime?: string;
  readonly strategy?: string;
}
