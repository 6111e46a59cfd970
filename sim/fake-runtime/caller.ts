/**
 * A client's calls to the fake runtime: with the real client's deadlines, through the port-calls wrapper, until the
 * client is closed.
 */

import { type LinkedSignal, linkSignals } from "../../src/concurrency/abort.ts";
import { DeadlineError } from "../../src/concurrency/deadline.ts";
import type { ContainerEvent } from "../../src/domain/runtime/container.ts";
import { RuntimeError } from "../../src/ports/runtime-error.ts";
import type { CallDescription, Life } from "../port-calls.ts";
import { UnreadLimitError } from "../port-stream.ts";
import type { RuntimeParts } from "./parts.ts";
import { unavailable } from "./server.ts";

const EVENTS_MAX = 4096;
export const NO_LIMIT = Number.POSITIVE_INFINITY;
const REQUEST_LIMIT_MS = 120_000;

interface Target {
  readonly target: string;
  readonly podUid: string;
}

type Handler<T> = (signal: AbortSignal) => T | Promise<T>;

export class RuntimeCaller {
  readonly parts: RuntimeParts;
  readonly requestLimitMs: number;
  readonly #life: Life;
  readonly #open = new Map<LinkedSignal, string>();
  #isClosed = false;

  constructor(parts: RuntimeParts, life: Life, requestLimitMs = REQUEST_LIMIT_MS) {
    this.parts = parts;
    this.#life = life;
    this.requestLimitMs = requestLimitMs;
  }

  async call<T>(
    operation: string,
    target: string | Target,
    signal: AbortSignal,
    handler: Handler<T>,
    limitMs = this.requestLimitMs,
  ): Promise<T> {
    signal.throwIfAborted();
    if (this.#isClosed) throw unavailable(operation);
    using link = linkSignals(signal);
    this.#open.set(link, operation);
    const { clock } = this.#life;
    const late = () => link.abort(new RuntimeError(operation, "deadlineExceeded", new DeadlineError(limitMs).message));
    const cancel = limitMs === NO_LIMIT ? undefined : clock.after(limitMs, late);
    try {
      return await this.#life.call(describe(operation, target), link.signal, (s) =>
        this.parts.server.serve(operation, s, handler),
      );
    } finally {
      cancel?.();
      this.#open.delete(link);
    }
  }

  /** Follows events from the moment of this call; the caller reads them later. */
  events(signal: AbortSignal): AsyncGenerator<ContainerEvent, void, undefined> {
    const operation = "GetContainerEvents";
    const link = linkSignals(signal);
    this.#open.set(link, operation);
    if (this.#isClosed) link.abort(unavailable(operation));
    const { state } = this.parts;
    const stream = this.#life.stream<ContainerEvent>(
      describe(operation, ""),
      link.signal,
      (sink) => {
        if (state.isDead) throw unavailable(operation);
        return state.events.follow(sink);
      },
      { unreadMax: EVENTS_MAX },
    );
    const done = () => {
      this.#open.delete(link);
      link[Symbol.dispose]();
    };
    return (async function* () {
      try {
        yield* stream;
      } catch (error) {
        if (error instanceof UnreadLimitError) throw new RuntimeError(operation, "resourceExhausted", error.message);
        throw error;
      } finally {
        done();
      }
    })();
  }

  close(): void {
    this.#isClosed = true;
    for (const [link, operation] of this.#open)
      link.abort(new RuntimeError(operation, "cancelled", "the client was closed"));
  }
}

const describe = (name: string, target: string | Target): CallDescription => ({
  port: "runtime",
  name,
  ...(typeof target === "string" ? { target } : target),
  unanswered: () => new RuntimeError(name, "unavailable", "the connection broke"),
});
