// Generated from the API server's OpenAPI documents by tools/generate/api-types.ts. Do not edit.

import type { DeleteOptions, ObjectMeta } from "./meta-v1.ts";

export interface Eviction {
  readonly apiVersion?: string;
  readonly deleteOptions?: DeleteOptions;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}
