/**
 * The HttpFetch port on pages in memory. A missing page is a 404. A test needs one line for a server that is down, slow
 * or sends too much.
 */
import { withDeadline } from "../src/concurrency/deadline.ts";
import { sleep } from "../src/concurrency/sleep.ts";
import type { Clock } from "../src/ports/clock.ts";
import { type HttpAnswer, type HttpFetch, HttpFetchError } from "../src/ports/http-fetch.ts";

export type FakePage =
  | { readonly kind: "answer"; readonly status: number; readonly body: string | Uint8Array; readonly delayMs?: number }
  | { readonly kind: "redirect"; readonly location: string }
  | { readonly kind: "refused" };

export interface FakeRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly atMs: number;
}

const REDIRECTS_MAX = 10;

export class FakeHttp implements HttpFetch {
  /** By full URL. A function is called for each request. */
  readonly pages = new Map<string, FakePage | ((request: FakeRequest) => FakePage)>();
  readonly requests: FakeRequest[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async get(
    url: string,
    { headers, limitMs, bytesMax }: Parameters<HttpFetch["get"]>[1],
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    try {
      return await withDeadline(this.#clock, limitMs, signal, (limited) =>
        this.#follow(url, headers, bytesMax, limited),
      );
    } catch (error) {
      if (signal.aborted || error instanceof HttpFetchError) throw error;
      throw new HttpFetchError(url, error instanceof Error ? error.message : String(error), { cause: error });
    }
  }

  async #follow(
    start: string,
    headers: FakeRequest["headers"],
    bytesMax: number,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    let url = start;
    for (let hops = 0; hops <= REDIRECTS_MAX; hops += 1) {
      const page = this.#page(url, headers);
      if (page.kind === "refused") throw new HttpFetchError(url, "connection refused");
      if (page.kind === "answer") return await this.#answer(url, page, bytesMax, signal);
      url = new URL(page.location, url).href;
    }
    throw new HttpFetchError(start, `stopped after ${REDIRECTS_MAX} redirects`);
  }

  #page(url: string, headers: FakeRequest["headers"]): FakePage {
    const request = { url, headers, atMs: this.#clock.monotonicMs() };
    this.requests.push(request);
    const page = this.pages.get(url) ?? { kind: "answer", status: 404, body: "not found" };
    return typeof page === "function" ? page(request) : page;
  }

  async #answer(
    url: string,
    { status, body, delayMs = 0 }: Extract<FakePage, { readonly kind: "answer" }>,
    bytesMax: number,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    if (delayMs > 0) await sleep(this.#clock, delayMs, signal);
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    if (bytes.length > bytesMax) throw new HttpFetchError(url, `the answer is larger than ${bytesMax} bytes`);
    return { status, body: bytes };
  }
}
