/**
 * The API server.
 *
 * Every call takes the caller's signal and has its own deadline (a watch has a watchdog instead). It rejects with an
 * `ApiError` when the server rejects the request. It rejects with an `ApiUnreachableError` when there is no response,
 * in which case the call may have taken effect. It rejects with the signal's reason when the caller gives up.
 */
import type { ApiObject, Resource } from "../api/resource.ts";

export type { ApiObject, Resource };

export interface ObjectName {
  readonly name: string;
  /** Omitted for cluster-scoped kinds. */
  readonly namespace?: string;
}

/** Selects objects of a kind; by default all of them. */
export interface Selection {
  readonly namespace?: string;
  readonly labels?: string;
  readonly fields?: string;
}

export interface ListOptions {
  readonly limit?: number;
  readonly continueToken?: string;
  /** Omitted: a consistent read. "0": any version that the server has cached. */
  readonly resourceVersion?: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Present when there are more pages. */
  readonly continueToken?: string;
}

export type WatchEvent<T> =
  | { readonly kind: "added" | "modified" | "deleted"; readonly object: T }
  /** All changes up to this version were delivered. `initialEventsEnd` marks the end of a streaming list. */
  | { readonly kind: "bookmark"; readonly resourceVersion: string; readonly initialEventsEnd: boolean };

export type WatchStart =
  /** The changes after this version. */
  | { readonly kind: "after"; readonly resourceVersion: string }
  /** A streaming list: existing objects as "added", then a bookmark, then changes. */
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
  /** Returns one page. */
  list<T extends ApiObject>(
    resource: Resource<T>,
    selection: Selection,
    options: ListOptions,
    signal: AbortSignal,
  ): Promise<Page<T>>;
  /**
   * Yields events until the server ends the stream, which servers do normally after some minutes. Rejects when the
   * stream breaks or goes silent. Rejects with an `ApiError` that satisfies `isExpired` when the version is too old.
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
  /** Creates a subresource of an object: a service account token, or the eviction of a pod. */
  ask<Answer extends ApiObject>(
    resource: Resource<ApiObject>,
    name: ObjectName,
    subresource: "token" | "eviction",
    question: ApiObject,
    signal: AbortSignal,
  ): Promise<Answer>;
  /** Later requests use new connections. Running requests finish, or fail as they would have anyway. */
  renewConnections(): void;
}
