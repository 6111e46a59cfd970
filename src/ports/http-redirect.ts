/** Redirects of HTTP probes and lifecycle hooks: followed only to the same host, and a limited number of times. */
import { hostAndPort } from "../domain/probes/container-port.ts";
import { type HttpGet, urlOf } from "../domain/probes/http-get.ts";

/** Maximum number of requests, including the first one. */
const REQUESTS_MAX = 10;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export const isRedirect = (status: number): boolean => REDIRECTS.has(status);

export type Redirect =
  /** Use the response as it is: it is not a redirect, or it points to another host. */
  | { readonly kind: "none" }
  | { readonly kind: "follow"; readonly get: HttpGet }
  | { readonly kind: "refused"; readonly url: string; readonly detail: string };

/** `requests`: the number of requests so far; `first`: the original request. */
export function redirectOf(
  first: HttpGet,
  current: HttpGet,
  { status, location = "" }: { readonly status: number; readonly location: string | undefined },
  requests: number,
): Redirect {
  if (!isRedirect(status) || location === "") return { kind: "none" };
  const url = URL.parse(location, urlOf(current));
  if (url === null) {
    const detail = `failed to parse Location header ${JSON.stringify(location)}`;
    return { kind: "refused", url: urlOf(current), detail };
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (host !== first.host.toLowerCase()) return { kind: "none" };
  if (requests >= REQUESTS_MAX) {
    return { kind: "refused", url: location, detail: `stopped after ${REQUESTS_MAX} redirects` };
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    const detail = `unsupported protocol scheme ${JSON.stringify(url.protocol.slice(0, -1))}`;
    return { kind: "refused", url: location, detail };
  }
  const scheme = url.protocol === "https:" ? "https" : "http";
  const port = url.port === "" ? (scheme === "https" ? 443 : 80) : Number(url.port);
  const authority = keptHost(first, location) ?? hostAndPort(host, port);
  const kept = first.headers.filter(([name]) => name !== "Host" && name.toLowerCase() !== "referer");
  const headers = [["Host", authority], ...kept, ["Referer", urlOf(current)]] as const;
  return { kind: "follow", get: { scheme, host, port, target: `${url.pathname}${url.search}`, headers } };
}

/** Relative redirects keep a custom Host header. */
function keptHost({ headers, host, port }: HttpGet, location: string): string | undefined {
  const given = headers.find(([name]) => name === "Host")?.[1];
  const isRelative = !/^(?:[A-Za-z][A-Za-z0-9+.-]*:|\/\/)/.test(location);
  return isRelative && given !== hostAndPort(host, port) ? given : undefined;
}
