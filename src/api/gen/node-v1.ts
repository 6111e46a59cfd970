// Generated from the API server's OpenAPI documents by tools/generate/api-types.ts. Do not edit.

import type { Toleration } from "./core-v1.ts";
import type { ObjectMeta } from "./meta-v1.ts";

export interface Overhead {
  readonly podFixed?: Readonly<Record<string, string>>;
}

export interface RuntimeClass {
  readonly apiVersion?: string;
  readonly handler: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly overhead?: Overhead;
  readonly scheduling?: Scheduling;
}

export interface Scheduling {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly Toleration[];
}
