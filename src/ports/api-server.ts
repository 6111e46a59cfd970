/**
 * The API server.
 *
 * Every call takes the caller's signal and has a deadline of its own (a watch has a watchdog instead). It rejects with an
 * `ApiError` when the server said no, with an `ApiUnreachableError` when there was no answer, which leaves open whether the
 * call took effect, or with the signal's reason when the caller gave up.
 */
import type { ApiObject, Resource } from "../api/resource.ts";

export type { ApiObject, Resource };

export interface ObjectName {
  readonly name: string;
  /** Left out for cluster-scoped kinds. */
  readonly namespace?: string;
}

/** Which objects of a kind. All of them by default. */
export interface Selection {
  readonly namespace?: string;
  readonly labels?: string;
  readonly fields?: string;
}

export interface ListOptions {
  readonly limit?: number;
  readonly continueToken?: string;
  /** Left out: a consistent read. "0": whatever the server has at hand. */
  readonly resourceVersion?: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Present when there is more. */
  readonly continueToken?: string;
}

export type WatchEvent<T> =
  | { readonly kind: "added" | "modified" | "deleted"; readonly object: T }
  /** Everything up to here was seen. `initialEventsEnd` closes the replay of a streaming list. */
  | { readonly kind: "bookmark"; readonly resourceVersion: string; readonly initialEventsEnd: boolean };

export type WatchStart =
  /** What happens after this version. */
  | { readonly kind: "after"; readonly resourceVersion: string }
  /** A streaming list: what there is, as "added", then a bookmark, then what happens. */
  | { readonly kind: "initialEvents" };

export type Patch = {
  readonly kind: "strategic" | "merge";
  readonly body: unknown;
};

export interface WriteOptions {
  readonly subresource?: "status" | "resize" | "ephemeralcontainers";
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagation?: "Orphan" | "Background" | "Foreground";
}

export interface ApiServer {
  get<T extends ApiObject>(resource: Resource<T>, name: ObjectName, signal: AbortSignal): Promise<T>;
  /** One page. */
  list<T extends ApiObject>(
    resource: Resource<T>,
    selection: Selection,
    options: ListOptions,
    signal: AbortSignal,
  ): Promise<Page<T>>;
  /**
   * Events until the server ends the stream (a normal end, as servers do after some minutes), or until it breaks or goes
   * silent (a rejection). A version that is too old rejects with an `ApiError` for which `isExpired` holds.
   */
  watch<T extends ApiObject>(
    resource: Resource<T>,
    selection: Selection,
    start: WatchStart,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>;
  create<T extends ApiObject>(resource: Resource<T>, object: T, signal: AbortSignal): Promise<T>;
  update<T extends ApiObject>(resource: Resource<T>, object: T, options: WriteOptions, signal: AbortSignal): Promise<T>;
  patch<T extends ApiObject>(
    resource: Resource<T>,
    name: ObjectName,
    patch: Patch,
    options: WriteOptions,
    signal: AbortSignal,
  ): Promise<T>;
  delete(resource: Resource<ApiObject>, name: ObjectName, options: DeleteOptions, signal: AbortSignal): Promise<void>;
  /** Asks something of an object: a token of a service account, the eviction of a pod. */
  ask<Answer extends ApiObject>(
    resource: Resource<ApiObject>,
    name: ObjectName,
    subresource: "token" | "eviction",
    question: ApiObject,
    signal: AbortSignal,
  ): Promise<Answer>;
  /** What is asked from now on goes over new connections. What is under way finishes, or fails as it would have. */
  renewConnections(): void;
}
