// Generated from the API server's OpenAPI documents by tools/generate/api-types.ts. Do not edit.

import type { EventSource, ObjectReference } from "./core-v1.ts";
import type { ObjectMeta } from "./meta-v1.ts";

export interface Event {
  readonly action?: string;
  readonly apiVersion?: string;
  readonly deprecatedCount?: number;
  readonly deprecatedFirstTimestamp?: string;
  readonly deprecatedLastTimestamp?: string;
  readonly deprecatedSource?: EventSource;
  readonly eventTime: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly note?: string;
  readonly reason?: string;
  readonly regarding?: ObjectReference;
  readonly related?: ObjectReference;
  readonly reportingController?: string;
  readonly reportingInstance?: string;
  readonly series?: EventSeries;
  readonly type?: string;
}

export interface EventSeries {
  readonly count: number;
  readonly lastObservedTime: string;
}
