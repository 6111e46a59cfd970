/**
 * Sends one request until it is done: waits for the rate limit, retries what certainly had no effect, and keeps the
 * deadline, which covers all of that. It rejects only with what the port promises.
 */

import type { OutgoingHttpHeaders } from "node:http2";
import { errorText } from "../../base/error-text.ts";
import { linkSignals, raceAbort } from "../../concurrency/abort.ts";
import { DeadlineError, withDeadline } from "../../concurrency/deadline.ts";
import { sleep } from "../../concurrency/sleep.ts";
import type { TokenBucket } from "../../concurrency/token-bucket.ts";
import { ApiError, ApiUnreachableError } from "../../ports/api-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Tracer } from "../../ports/tracer.ts";
import { decodeBody, refusal } from "./answers.ts";
import type { Authenticator, Authorization } from "./credentials.ts";
import { Exchange, type ResponseHead } from "./exchange.ts";
import { inRequestSpan } from "./request-span.ts";
import { retryWaitMs, UnseenRequestError } from "./retry.ts";
import type { Session } from "./session.ts";
import type { SessionPool } from "./session-pool.ts";

export interface ApiRequest {
  /** How errors name the request. */
  readonly operation: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly acceptGzip?: boolean;
}

export interface RequesterOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly pool: SessionPool;
  readonly bucket: TokenBucket;
  /** Waits while there are no credentials yet. */
  readonly authenticator: (signal: AbortSignal) => Promise<Authenticator>;
  readonly userAgent: string;
  readonly tracer: Tracer;
  /** How traces name the server. */
  readonly origin: string;
  readonly limitMs: number;
  readonly retriesMax: number;
  /** Aborts with a `ClosedError` when the client is closed. */
  readonly closing: AbortSignal;
}

export class ClosedError extends Error {
  override readonly name = "ClosedError";
  constructor() {
    super("the client was closed");
  }
}

type Read<T> = (exchange: Exchange, head: ResponseHead, signal: AbortSignal) => Promise<T>;

/**
 * A request in progress, with all its attempts. If it ends without an answer, `unanswered` says whether the server may
 * have acted on it.
 */
interface Call<T> {
  readonly request: ApiRequest;
  readonly read: Read<T>;
  session: Session | undefined;
  unanswered: boolean;
  /** Of the last attempt. */
  authorization: Authorization | undefined;
}

export class Requester {
  readonly #options: RequesterOptions;

  constructor(options: RequesterOptions) {
    this.#options = options;
  }

  /** Returns the whole body of a success. */
  send(request: ApiRequest, signal: AbortSignal): Promise<Buffer> {
    return this.#inTime(request, signal, async (exchange, head, signal) =>
      decodeBody(request.operation, head, await exchange.body(signal)),
    );
  }

  /**
   * Returns a success whose body is not read yet. The deadline covers its head; the caller must cancel it in the end.
   */
  open(request: ApiRequest, signal: AbortSignal): Promise<Exchange> {
    return this.#inTime(request, signal, (exchange) => Promise.resolve(exchange));
  }

  async #inTime<T>(request: ApiRequest, signal: AbortSignal, read: Read<T>): Promise<T> {
    const { clock, limitMs, closing } = this.#options;
    const call: Call<T> = {
      request,
      read,
      session: undefined,
      unanswered: false,
      authorization: undefined,
    };
    const deadlineMs = clock.monotonicMs() + limitMs;
    using linked = linkSignals(signal, closing);
    try {
      return await withDeadline(clock, limitMs, linked.signal, (signal) => this.#untilDone(call, deadlineMs, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DeadlineError) call.session?.doubt();
      else if (!(error instanceof ClosedError)) throw error;
      throw new ApiUnreachableError(request.operation, error.message, call.unanswered, { cause: error });
    }
  }

  async #untilDone<T>(call: Call<T>, deadlineMs: number, signal: AbortSignal): Promise<T> {
    const { clock, random, retriesMax, authenticator } = this.#options;
    let renewed = false;
    for (let retries = 0; ; retries += 1) {
      try {
        return await this.#attempt(call, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        if (error instanceof ApiError && error.status === 401 && !renewed) {
          renewed = true;
          if (await this.#renewed(call, await authenticator(signal), error, signal)) continue;
        }
        const waitMs = retryWaitMs(error, random.fraction());
        if (waitMs === undefined || retries >= retriesMax) throw error;
        if (clock.monotonicMs() + waitMs >= deadlineMs) throw error;
        await sleep(clock, waitMs, signal);
      }
    }
  }

  async #renewed<T>(
    call: Call<T>,
    authenticator: Authenticator,
    refused: ApiError,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      return await raceAbort(authenticator.renew(call.authorization), signal);
    } catch (cause) {
      signal.throwIfAborted();
      refused.cause = cause;
      return false;
    }
  }

  async #attempt<T>(call: Call<T>, signal: AbortSignal): Promise<T> {
    const { bucket, tracer, origin } = this.#options;
    await bucket.take(signal);
    return inRequestSpan(tracer, { ...call.request, origin }, (headers, answered) =>
      this.#exchange(call, headers, answered, signal),
    );
  }

  async #exchange<T>(
    call: Call<T>,
    traced: Readonly<Record<string, string>>,
    answered: (status: number) => void,
    signal: AbortSignal,
  ): Promise<T> {
    const { clock, pool } = this.#options;
    const { request } = call;
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    const open = await this.#unsent(request, signal, async () =>
      pool.open({ ...traced, ...(await this.#headers(call, signal)) }, body === undefined, signal),
    );
    call.session = open.session;
    call.unanswered = true;
    const exchange = new Exchange(request.operation, open, body);
    try {
      const head = await exchange.head(signal);
      answered(head.status);
      if (head.status < 300) return await call.read(exchange, head, signal);
      const answer = await exchange.body(signal);
      call.unanswered = false;
      throw refusal(request.operation, head, answer, clock.wallMs());
    } catch (error) {
      if (error instanceof UnseenRequestError) call.unanswered = false;
      exchange.cancel();
      throw error;
    }
  }

  /** Runs a step before anything is sent: its failure means that the request had no effect. */
  async #unsent<T>(request: ApiRequest, signal: AbortSignal, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (cause) {
      signal.throwIfAborted();
      const detail = errorText(cause);
      throw new ApiUnreachableError(request.operation, detail, false, { cause });
    }
  }

  async #headers<T>(call: Call<T>, signal: AbortSignal): Promise<OutgoingHttpHeaders> {
    const { request } = call;
    const authenticator = await this.#options.authenticator(signal);
    call.authorization = await raceAbort(authenticator.authorization(), signal);
    const { header } = call.authorization;
    return {
      ":method": request.method,
      ":path": request.path,
      accept: "application/json",
      "user-agent": this.#options.userAgent,
      ...(request.acceptGzip === true ? { "accept-encoding": "gzip" } : {}),
      ...(request.contentType === undefined ? {} : { "content-type": request.contentType }),
      ...(header === undefined ? {} : { authorization: header }),
    };
  }
}
