/** Fetches a document over HTTP or HTTPS, for the only content configured by URL: static pods. Follows redirects. */
export class HttpFetchError extends Error {
  override readonly name = "HttpFetchError";
  constructor(url: string, detail: string, options?: ErrorOptions) {
    super(`GET ${url}: ${detail}`, options);
  }
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

export interface HttpFetch {
  /** Rejects with an `HttpFetchError` when the response is late or larger than `bytesMax`; any status is a response. */
  get(
    url: string,
    options: {
      readonly headers: Readonly<Record<string, readonly string[]>>;
      readonly limitMs: number;
      readonly bytesMax: number;
    },
    signal: AbortSignal,
  ): Promise<HttpAnswer>;
}
