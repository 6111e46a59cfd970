/**
 * One thing that others may ask of us. The listener has settled who asks and that they may before a route hears of it; a route answers, and
 * never decides about access. What it throws becomes a 500 with the error's text unless it is a `Refusal`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Subresource } from "../domain/server/subresource.ts";

export type { Subresource };

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

/** Which switch of the configuration closes it, answering 405. "none": it is always there. */
export type RouteSwitch = "none" | "debugging" | "profiling" | "debugFlags" | "systemLogs";

export interface Asked {
  readonly request: IncomingMessage;
  /** The parts of the path named in the route's pattern; what stands for its "*" is here as "*", joined with slashes. */
  readonly parts: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Aborts when the asker is gone, when it has been silent for too long, or when we end. */
  readonly signal: AbortSignal;
}

export interface Route {
  /** Exact parts, parts in braces, and at its end possibly "*" for whatever follows: "/containerLogs/{namespace}/{pod}/{container}", "/debug/pprof/*". */
  readonly path: string;
  readonly methods: readonly Method[];
  /** Of the node, any of which gives access, asked in this order. */
  readonly subresources: readonly Subresource[];
  readonly switch: RouteSwitch;
  /** Whether it is also there on the port that asks nobody who they are. */
  readonly readOnlyPort: boolean;
  /** Runs until the asker has enough: not held to the limit on answers. */
  readonly longRunning: boolean;
  answer(asked: Asked, response: ServerResponse): Promise<void>;
  /** For those that leave HTTP behind. `head` is what came after the request already. It owns the socket from here on. */
  upgrade?(asked: Asked, socket: Duplex, head: Uint8Array): Promise<void>;
}

/** A "no" with its status and text, in place of an answer. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  constructor(status: number, text: string, options?: ErrorOptions) {
    super(text, options);
    this.status = status;
  }
}
