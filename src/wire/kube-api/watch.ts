/**
 * Reads a watch: one JSON event per line, until the server ends the stream. Nothing is skipped: a line that is not a
 * known event, or a stream that ends inside an event, is an error.
 */
import type { ApiObject } from "../../api/resource.ts";
import { ApiUnreachableError } from "../../ports/api-error.ts";
import type { WatchEvent, WatchStart } from "../../ports/api-server.ts";
import { WATCH_LINE_BYTES_MAX } from "../limits.ts";
import { eventError, parseJson } from "./answers.ts";
import type { Exchange } from "./exchange.ts";
import { LineSplitter } from "./line-splitter.ts";

const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

interface RawEvent {
  readonly type?: unknown;
  readonly object?: unknown;
}

interface BookmarkObject {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

export async function* readWatch<T extends ApiObject>(
  operation: string,
  exchange: Exchange,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const splitter = new LineSplitter(WATCH_LINE_BYTES_MAX);
  try {
    for (let chunk = await exchange.chunk(signal); chunk !== undefined; chunk = await exchange.chunk(signal)) {
      for (const line of lines(operation, splitter, chunk)) {
        signal.throwIfAborted();
        yield parseEvent<T>(operation, line);
      }
    }
    if (splitter.pendingBytes > 0) throw new ApiUnreachableError(operation, "the watch ended inside an event", true);
  } finally {
    exchange.cancel();
  }
}

/** We ended the watch ourselves, so that its reader opens another. */
export class WatchEnded extends Error {
  override readonly name = "WatchEnded";
}

/**
 * A watch that we end ourselves ends like one that the server ends. If its initial list is incomplete, it rejects
 * instead.
 */
export async function* untilEnded<T>(
  operation: string,
  start: WatchStart,
  events: AsyncIterable<WatchEvent<T>>,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  let isWhole = start.kind === "after";
  try {
    for await (const event of events) {
      if (event.kind === "bookmark") isWhole ||= event.initialEventsEnd;
      yield event;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof WatchEnded)) throw error;
    if (!isWhole) throw new ApiUnreachableError(operation, "ended for a new connection", true, { cause: error });
  }
}

function* lines(operation: string, splitter: LineSplitter, chunk: Buffer): Generator<Buffer> {
  try {
    yield* splitter.push(chunk);
  } catch (cause) {
    throw new ApiUnreachableError(operation, String(cause), true, { cause });
  }
}

export function parseEvent<T extends ApiObject>(operation: string, line: Buffer): WatchEvent<T> {
  const { type, object } = (parseJson(operation, line) ?? {}) as RawEvent;
  if (typeof object === "object" && object !== null) {
    switch (type) {
      case "ADDED":
        return { kind: "added", object: object as T };
      case "MODIFIED":
        return { kind: "modified", object: object as T };
      case "DELETED":
        return { kind: "deleted", object: object as T };
      case "BOOKMARK":
        return bookmark(operation, object as BookmarkObject);
      case "ERROR":
        throw eventError(operation, object);
      default:
    }
  }
  throw new ApiUnreachableError(operation, `not a watch event: ${JSON.stringify(line.toString().slice(0, 200))}`, true);
}

function bookmark<T>(operation: string, { metadata }: BookmarkObject): WatchEvent<T> {
  const resourceVersion = metadata?.resourceVersion;
  if (resourceVersion === undefined) throw new ApiUnreachableError(operation, "a bookmark without a version", true);
  return {
    kind: "bookmark",
    resourceVersion,
    initialEventsEnd: metadata?.annotations?.[INITIAL_EVENTS_END] === "true",
  };
}
