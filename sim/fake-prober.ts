/**
 * The Prober port on servers in memory. The server at an address is looked up at each request, so servers may start,
 * stop and change.
 */
import { DeadlineError, withDeadline } from "../src/concurrency/deadline.ts";
import { sleep } from "../src/concurrency/sleep.ts";
import { hostAndPort } from "../src/domain/probes/container-port.ts";
import { type HttpGet, urlOf } from "../src/domain/probes/http-get.ts";
import type { Clock } from "../src/ports/clock.ts";
import { redirectOf } from "../src/ports/http-redirect.ts";
import {
  type GrpcHealth,
  type HttpAnswer,
  PLAIN_ANSWER,
  ProbeError,
  type Prober,
  type ProbeStep,
  type ProbeTarget,
} from "../src/ports/prober.ts";

export type FakeReply =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly body?: string;
      readonly location?: string;
      readonly delayMs?: number;
    }
  /** Accepts the request and never answers. */
  | { readonly kind: "silent" }
  /** Closes the connection without an answer. */
  | { readonly kind: "closed" }
  /** Starts to answer, then stalls in the body. */
  | { readonly kind: "half"; readonly status: number };

export interface FakeServer {
  readonly scheme?: "http" | "https";
  http(get: HttpGet): FakeReply;
  grpc(service: string, userAgent: string): GrpcHealth | { readonly kind: "silent" };
}

const RECONNECT_MS = 1_000;

export class FakeProber implements Prober {
  readonly #clock: Clock;
  readonly #at: (target: ProbeTarget) => FakeServer | undefined;

  constructor(clock: Clock, at: (target: ProbeTarget) => FakeServer | undefined) {
    this.#clock = clock;
    this.#at = at;
  }

  http(
    get: HttpGet,
    { limitMs, bodyBytesMax }: { readonly limitMs: number; readonly bodyBytesMax: number },
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    return this.#within(limitMs, signal, async (limited, reach) => {
      let current = get;
      for (let requests = 1; ; requests += 1) {
        const reply = await this.#ask(current, limited, reach);
        const { status, location, body = "" } = reply;
        const next = redirectOf(get, current, { status, location }, requests);
        if (next.kind === "none") return { status, body: new TextEncoder().encode(body).subarray(0, bodyBytesMax) };
        if (next.kind === "refused") throw new ProbeError("answer", "theirs", next.detail, next.url);
        current = next.get;
      }
    });
  }

  tcp(target: ProbeTarget, limitMs: number, signal: AbortSignal): Promise<void> {
    return this.#within(limitMs, signal, async () => void this.#connect(target));
  }

  grpc(
    target: ProbeTarget,
    { service, userAgent }: { readonly service: string; readonly userAgent: string },
    limitMs: number,
    signal: AbortSignal,
  ): Promise<GrpcHealth> {
    return this.#within(limitMs, signal, async (limited, reach) => {
      while (this.#at(target) === undefined) await sleep(this.#clock, RECONNECT_MS, limited);
      reach("answer");
      const health = this.#connect(target).grpc(service, userAgent);
      return health.kind === "silent" ? await forever(limited) : health;
    });
  }

  async #ask(
    get: HttpGet,
    signal: AbortSignal,
    reach: (step: ProbeStep, url?: string) => void,
  ): Promise<Extract<FakeReply, { kind: "answer" }>> {
    const url = urlOf(get);
    reach("connect", url);
    const server = this.#connect(get, url);
    reach("answer");
    if (get.scheme === "https" && server.scheme !== "https") {
      throw new ProbeError("answer", "theirs", PLAIN_ANSWER, url);
    }
    const reply = server.http(get);
    switch (reply.kind) {
      case "answer":
        if (reply.delayMs !== undefined) await sleep(this.#clock, reply.delayMs, signal);
        return reply;
      case "half":
        reach("body");
        return forever(signal);
      case "silent":
        return forever(signal);
      case "closed":
        throw new ProbeError("answer", "theirs", "EOF", url);
    }
  }

  #connect(target: ProbeTarget, url = ""): FakeServer {
    const server = this.#at(target);
    if (server !== undefined) return server;
    const address = hostAndPort(target.host, target.port);
    throw new ProbeError("connect", "theirs", `dial tcp ${address}: connect: connection refused`, url);
  }

  async #within<T>(
    limitMs: number,
    signal: AbortSignal,
    run: (limited: AbortSignal, reach: (step: ProbeStep, url?: string) => void) => Promise<T>,
  ): Promise<T> {
    let [step, url]: [ProbeStep, string] = ["connect", ""];
    const reach = (reached: ProbeStep, of = url) => {
      [step, url] = [reached, of];
    };
    try {
      return await withDeadline(this.#clock, limitMs, signal, (limited) => run(limited, reach));
    } catch (error) {
      if (!(error instanceof DeadlineError) || signal.aborted) throw error;
      throw new ProbeError(step, "late", `no answer within ${limitMs} ms`, url);
    }
  }
}

const forever = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
