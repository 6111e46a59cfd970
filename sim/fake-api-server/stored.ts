/** Objects as the fake API server stores them: frozen JSON, never changed in place, shared by all readers. */
import type { ObjectMeta } from "../../src/api/gen/meta-v1.ts";
import type { JsonObject } from "../../src/base/json-equal.ts";
import type { ApiObject } from "../../src/ports/api-server.ts";

export interface StoredMeta extends ObjectMeta {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
}

export type Stored = JsonObject & {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: StoredMeta;
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
};

/** An incoming object, which the server has not named yet. */
export type Draft = JsonObject & {
  readonly metadata?: ObjectMeta;
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
};

/** What arrives over a wire: fields without a value are dropped, and nobody else holds a reference. */
export const received = (object: unknown): Draft => JSON.parse(JSON.stringify(object)) as Draft;

export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) frozen(part);
  }
  return value;
}

/** List items carry neither apiVersion nor kind. */
export const asItem = ({ apiVersion: _v, kind: _k, ...item }: Stored): ApiObject => frozen(item);

export const keyOf = (namespace: string | undefined, name: string) => `${namespace ?? ""}/${name}`;
export const keyOfStored = ({ metadata }: Stored) => keyOf(metadata.namespace, metadata.name);
