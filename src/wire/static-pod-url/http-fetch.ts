/**
 * The HttpFetch port on Node's own HTTP clients. The certificate of an https server is checked against the CAs that
 * Node was built with, not those of the machine, and no proxy is used.
 */

import { get as getPlain, type IncomingMessage } from "node:http";
import { get as getSecure } from "node:https";
import { errorText } from "../../base/error-text.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import type { Clock } from "../../ports/clock.ts";
import { type HttpAnswer, type HttpFetch, HttpFetchError } from "../../ports/http-fetch.ts";
import { isRedirect } from "../../ports/http-redirect.ts";
import { MANIFEST_REDIRECTS_MAX } from "../limits.ts";

type Headers = Readonly<Record<string, readonly string[]>>;
type Fetched = HttpAnswer | { readonly location: string };

export function createHttpFetch(clock: Clock): HttpFetch {
  return {
    async get(url, { headers, limitMs, bytesMax }, signal) {
      try {
        return await withDeadline(clock, limitMs, signal, (limited) => follow(url, headers, bytesMax, limited));
      } catch (error) {
        if (signal.aborted || error instanceof HttpFetchError) throw error;
        const detail = errorText(error);
        throw new HttpFetchError(url, detail, { cause: error });
      }
    },
  };
}

async function follow(start: string, headers: Headers, bytesMax: number, signal: AbortSignal): Promise<HttpAnswer> {
  let url = new URL(start);
  for (let hops = 0; hops <= MANIFEST_REDIRECTS_MAX; hops += 1) {
    const fetched = await fetchOnce(url, headers, bytesMax, signal);
    if (!("location" in fetched)) return fetched;
    const next = new URL(fetched.location, url);
    if (next.host !== url.host) headers = withoutSecrets(headers);
    url = next;
  }
  throw new HttpFetchError(start, `stopped after ${MANIFEST_REDIRECTS_MAX} redirects`);
}

/**
 * Headers that identify us to one server are not sent to another host upon a redirect; other headers are, as in Go's
 * client.
 */
const secrets = new Set([
  "authorization",
  "cookie",
  "cookie2",
  "proxy-authorization",
  "proxy-authenticate",
  "www-authenticate",
]);

const withoutSecrets = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !secrets.has(name.toLowerCase())));

function fetchOnce(url: URL, headers: Headers, bytesMax: number, signal: AbortSignal): Promise<Fetched> {
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return Promise.reject(new HttpFetchError(url.href, `unsupported protocol ${url.protocol}`));
  }
  const get = url.protocol === "https:" ? getSecure : getPlain;
  const sent = Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, [...values]]));
  return new Promise((resolve, reject) => {
    const request = get(url, { headers: sent, agent: false, signal }, (response) => {
      const { statusCode = 0 } = response;
      const { location } = response.headers;
      if (isRedirect(statusCode) && location !== undefined) {
        response.destroy();
        resolve({ location });
        return;
      }
      readBody(response, bytesMax).then(
        (body) => resolve({ status: statusCode, body }),
        (error: unknown) => reject(error instanceof Error ? error : new Error(String(error))),
      );
    });
    // An abort also arrives here, with the reason as its cause.
    request.on("error", (error) => reject(signal.aborted ? (signal.reason as Error) : error));
  });
}

async function readBody(response: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      response.destroy();
      throw new Error(`the answer is larger than ${bytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
