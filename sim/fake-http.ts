/** Documents of the simulated web, by URL. */
import { type HttpAnswer, type HttpFetch, HttpFetchError } from "../src/ports/http-fetch.ts";

export class FakeHttp implements HttpFetch {
  readonly documents = new Map<string, HttpAnswer>();

  async get(url: string, { bytesMax }: { readonly bytesMax: number }, signal: AbortSignal): Promise<HttpAnswer> {
    signal.throwIfAborted();
    const found = this.documents.get(url);
    if (found === undefined) throw new HttpFetchError(url, "connect ECONNREFUSED");
    if (found.body.length > bytesMax) throw new HttpFetchError(url, `more than ${bytesMax} bytes`);
    return found;
  }
}
