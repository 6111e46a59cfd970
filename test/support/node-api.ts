/**
 * An API server with one Node, one Lease and one CSINode, for tests of the node's loops. Versions, patches, watches and
 * errors behave like the real server's. It records every request and injects failures.
 */
import type { Lease } from "../../src/api/gen/coordination-v1.ts";
import type { Node } from "../../src/api/gen/core-v1.ts";
import type { CSINode } from "../../src/api/gen/storage-v1.ts";
import type { JsonObject } from "../../src/base/json-equal.ts";
import type { MergeFields } from "../../src/base/strategic-merge.ts";
import { ApiError } from "../../src/ports/api-error.ts";
import type { ApiObject, ApiServer, Page, Patch, Resource, WatchEvent } from "../../src/ports/api-server.ts";
import { applyStrategicMerge } from "./strategic-merge-applier.ts";

const FIELDS: MergeFields = {
  status: {
    kind: "object",
    fields: { conditions: { kind: "listByKey", key: "type" }, addresses: { kind: "listReplaced" } },
  },
};

type Verb = "create" | "get" | "update" | "patch" | "watch";

export class NodeApi implements Pick<ApiServer, "create" | "get" | "update" | "patch" | "list" | "watch"> {
  readonly requests: string[] = [];
  readonly patches: JsonObject[] = [];
  /** Failures by "verb plural"; each request fails with the next one of its list. */
  readonly failures = new Map<string, Error[]>();
  readonly #objects = new Map<string, ApiObject>();
  readonly #watchers = new Set<(event: WatchEvent<ApiObject>) => void>();
  #version = 100;
  /** When set, events are queued here and reach watchers only on `release`. */
  held: (() => void)[] | undefined;

  get node(): Node | undefined {
    return this.#objects.get("nodes");
  }

  get lease(): Lease | undefined {
    return this.#objects.get("leases");
  }

  get csiNode(): CSINode | undefined {
    return this.#objects.get("csinodes") as CSINode | undefined;
  }

  /** Stores an object as another client would. */
  put(plural: "nodes" | "leases" | "csinodes", object: Node | Lease | CSINode): ApiObject {
    this.#version += 1;
    const uid = object.metadata?.uid ?? `uid-${this.#version}`;
    const stored = { ...object, metadata: { ...object.metadata, uid, resourceVersion: String(this.#version) } };
    const kind = this.#objects.has(plural) ? "modified" : "added";
    this.#objects.set(plural, stored);
    if (plural === "nodes") this.#tell({ kind, object: stored });
    return stored;
  }

  remove(plural: "nodes" | "leases"): void {
    const object = this.#objects.get(plural);
    this.#objects.delete(plural);
    if (object !== undefined && plural === "nodes") this.#tell({ kind: "deleted", object });
  }

  release(): void {
    const held = this.held ?? [];
    this.held = undefined;
    for (const tell of held) tell();
  }

  async create<T extends ApiObject>(resource: Resource<T>, object: T): Promise<T> {
    this.#note("create", resource);
    if (this.#objects.has(resource.plural)) throw refused(409, "AlreadyExists");
    return this.put(resource.plural as "nodes", object) as T;
  }

  async get<T extends ApiObject>(resource: Resource<T>): Promise<T> {
    this.#note("get", resource);
    return this.#found(resource);
  }

  async update<T extends ApiObject>(resource: Resource<T>, object: T): Promise<T> {
    this.#note("update", resource);
    const stored = this.#found(resource);
    if (stored.metadata?.resourceVersion !== object.metadata?.resourceVersion) throw refused(409, "Conflict");
    return this.put(resource.plural as "leases", object) as T;
  }

  async patch<T extends ApiObject>(resource: Resource<T>, _name: unknown, { body }: Patch): Promise<T> {
    this.#note("patch", resource);
    const stored = this.#found(resource);
    this.patches.push(body as JsonObject);
    const patched = applyStrategicMerge(stored as JsonObject, body as JsonObject, FIELDS);
    return this.put(resource.plural as "nodes", patched) as T;
  }

  list<T extends ApiObject>(): Promise<Page<T>> {
    return Promise.reject(new Error("lists come by watch here"));
  }

  async *watch<T extends ApiObject>(
    resource: Resource<T>,
    _selection: unknown,
    _start: unknown,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    this.#note("watch", resource);
    const { node } = this;
    const queue: WatchEvent<ApiObject>[] = node === undefined ? [] : [{ kind: "added", object: node }];
    queue.push({ kind: "bookmark", resourceVersion: String(this.#version), initialEventsEnd: true });
    let wake = () => {};
    const push = (event: WatchEvent<ApiObject>) => {
      queue.push(event);
      wake();
    };
    this.#watchers.add(push);
    signal.addEventListener("abort", () => wake(), { once: true });
    try {
      while (!signal.aborted) {
        for (let event = queue.shift(); event !== undefined; event = queue.shift()) yield event as WatchEvent<T>;
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (queue.length > 0 || signal.aborted) resolve();
        });
      }
    } finally {
      this.#watchers.delete(push);
    }
    throw signal.reason;
  }

  #note(verb: Verb, { plural }: Resource<ApiObject>): void {
    const request = `${verb} ${plural}`;
    this.requests.push(request);
    const failure = this.failures.get(request)?.shift();
    if (failure !== undefined) throw failure;
  }

  #found<T>({ plural }: Resource<T>): T & ApiObject {
    const object = this.#objects.get(plural);
    if (object === undefined) throw refused(404, "NotFound");
    return object as T & ApiObject;
  }

  #tell(event: WatchEvent<ApiObject>): void {
    const tell = () => {
      for (const push of this.#watchers) push(event);
    };
    if (this.held === undefined) tell();
    else this.held.push(tell);
  }
}

export const refused = (status: number, reason: string) => new ApiError("TEST", status, reason, reason);
