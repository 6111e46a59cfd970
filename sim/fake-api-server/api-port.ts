/** The ApiServer port of the fake API server, for one life of one agent with its identity. */
import { linkSignals } from "../../src/concurrency/abort.ts";
import { ApiError, ApiUnreachableError } from "../../src/ports/api-error.ts";
import type {
  ApiObject,
  ApiServer,
  ListOptions,
  ObjectName,
  Page,
  Patch,
  Resource,
  Selection,
  WatchEvent,
  WatchStart,
  WriteOptions,
} from "../../src/ports/api-server.ts";
import type { CallDescription, Life } from "../port-calls.ts";
import type { ApiParts } from "./api-parts.ts";
import type { Identity } from "./identity.ts";
import { kindOf } from "./kinds.ts";
import { authorizeGet, authorizeList } from "./node-admission.ts";
import { Refusal } from "./refusal.ts";
import { selectorOf } from "./selectors.ts";
import { received, type Stored } from "./stored.ts";

const REQUEST_LIMIT_MS = 30_000;

interface Caller {
  readonly parts: ApiParts;
  readonly life: Life;
  readonly who: Identity;
  readonly limitMs: number;
}

export function apiPort(parts: ApiParts, life: Life, who: Identity, limitMs = REQUEST_LIMIT_MS): ApiServer {
  const caller: Caller = { parts, life, who, limitMs };
  // Calls here do not depend on a connection, so there is nothing to renew.
  return { ...readPort(caller), ...writePort(caller), renewConnections: () => {} };
}

function readPort(caller: Caller): Pick<ApiServer, "get" | "list" | "watch"> {
  const { parts, who } = caller;
  const { store, lists, writes } = parts;
  return {
    get: <T extends ApiObject>(resource: Resource<T>, name: ObjectName, signal: AbortSignal): Promise<T> =>
      call(caller, operationName("GET", resource, name), signal, () => {
        const kind = kindOf(resource);
        authorizeGet(store, who, kind, name);
        return writes.find(kind, name.namespace, name.name, undefined) as unknown as T;
      }),

    list: <T extends ApiObject>(
      resource: Resource<T>,
      selection: Selection,
      options: ListOptions,
      signal: AbortSignal,
    ): Promise<Page<T>> =>
      call(caller, operationName("LIST", resource, selection), signal, () => {
        const kind = kindOf(resource);
        authorizeList(store, who, kind, selection);
        return lists.page(kind, selection, options) as Page<T>;
      }),

    watch: <T extends ApiObject>(resource: Resource<T>, selection: Selection, start: WatchStart, signal: AbortSignal) =>
      readWatch(caller, resource, selection, start, signal) as AsyncIterable<unknown> as AsyncIterable<WatchEvent<T>>,
  };
}

function writePort(caller: Caller): Pick<ApiServer, "create" | "update" | "patch" | "delete" | "ask"> {
  const { parts, who } = caller;
  const { writes, questions } = parts;
  return {
    create: <T extends ApiObject>(resource: Resource<T>, object: T, signal: AbortSignal): Promise<T> =>
      call(caller, operationName("CREATE", resource, object.metadata ?? {}), signal, () => {
        const kind = kindOf(resource);
        const answer = questions.review(kind, received(object));
        return answer === undefined ? (writes.create(kind, object, who) as unknown as T) : (answer as unknown as T);
      }),

    update: <T extends ApiObject>(
      resource: Resource<T>,
      object: T,
      { subresource }: WriteOptions,
      signal: AbortSignal,
    ): Promise<T> =>
      call(
        caller,
        operationName("UPDATE", resource, object.metadata ?? {}, subresource),
        signal,
        () => writes.update(kindOf(resource), object, subresource, who) as unknown as T,
      ),

    patch: <T extends ApiObject>(
      resource: Resource<T>,
      name: ObjectName,
      patch: Patch,
      { subresource }: WriteOptions,
      signal: AbortSignal,
    ): Promise<T> =>
      call(
        caller,
        operationName("PATCH", resource, name, subresource),
        signal,
        () => writes.patch(kindOf(resource), name, patch, subresource, who) as unknown as T,
      ),

    delete: (resource, name, options, signal) =>
      call(caller, operationName("DELETE", resource, name), signal, () =>
        writes.delete(kindOf(resource), name, options, who),
      ),

    ask: <Answer extends ApiObject>(
      resource: Resource<ApiObject>,
      name: ObjectName,
      subresource: "token" | "eviction",
      question: ApiObject,
      signal: AbortSignal,
    ): Promise<Answer> =>
      call(caller, operationName("CREATE", resource, name, subresource), signal, () => {
        const answer: unknown =
          subresource === "token" ? questions.token(name, question, who) : questions.evict(name, question, who);
        return answer as Answer;
      }),
  };
}

/** Runs one request with its deadline. */
async function call<T>(
  { parts, life, limitMs }: Caller,
  operation: string,
  signal: AbortSignal,
  effect: () => T,
): Promise<T> {
  using link = linkSignals(signal);
  const cancel = life.clock.after(limitMs, () => link.abort(late(operation, limitMs)));
  try {
    return await life.call(describe(operation), link.signal, () => {
      parts.reach(operation, life.who);
      return named(operation, effect);
    });
  } finally {
    cancel();
  }
}

/** Opens the watch on the first read, as the real client does. */
async function* readWatch(
  { parts, life, who, limitMs }: Caller,
  resource: Resource<ApiObject>,
  selection: Selection,
  start: WatchStart,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<Stored>, void, undefined> {
  const operation = operationName("WATCH", resource, selection);
  using link = linkSignals(signal);
  // A server that is silent from the start hits this deadline. Once the watch is open, bookmarks show that the server
  // is alive.
  const cancel = life.clock.after(limitMs, () => link.abort(late(operation, limitMs)));
  try {
    yield* life.stream<WatchEvent<Stored>>(
      describe(operation),
      link.signal,
      (sink) => {
        parts.reach(operation, life.who);
        return named(operation, () => {
          const kind = kindOf(resource);
          authorizeList(parts.store, who, kind, selection);
          return parts.watches.open(parts.store, kind, selectorOf(kind, selection), start, sink, life.who);
        });
      },
      { onOpen: cancel },
    );
  } finally {
    cancel();
  }
}

const late = (operation: string, limitMs: number) =>
  new ApiUnreachableError(operation, `no answer within ${limitMs} ms`, true);

function named<T>(operation: string, effect: () => T): T {
  try {
    return effect();
  } catch (error) {
    if (error instanceof Refusal) throw new ApiError(operation, error.status, error.reason, error.message);
    throw error;
  }
}

const describe = (operation: string): CallDescription => {
  const space = operation.indexOf(" ");
  return {
    port: "api",
    name: operation.slice(0, space),
    target: operation.slice(space + 1),
    unanswered: () => new ApiUnreachableError(operation, "socket hang up", true),
  };
};

/** Returns a name such as "PATCH pods/status default/web", as the real client names its calls. */
function operationName(
  verb: string,
  resource: Resource<ApiObject>,
  target: { readonly namespace?: string; readonly name?: string },
  subresource?: string,
): string {
  const kind = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
  const object = [target.namespace, target.name].filter((part) => part !== undefined && part !== "").join("/");
  return object === "" ? `${verb} ${kind}` : `${verb} ${kind} ${object}`;
}
