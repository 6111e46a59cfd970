/** Where the answer to a probe's or a hook's GET sends us: followed only as long as it stays on the host that was asked, and not for ever. */
import { hostAndPort } from "../domain/probes/container-port.ts";
import { type HttpGet, urlOf } from "../domain/probes/http-get.ts";

/** How often a question is put, the first time among them. */
const QUESTIONS_MAX = 10;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export type Redirect =
  /** The answer is the answer: no redirect, or one to another host. */
  | { readonly kind: "none" }
  | { readonly kind: "follow"; readonly get: HttpGet }
  | { readonly kind: "refused"; readonly url: string; readonly detail: string };

/** `questions`: how many were put by now; `first`: what was asked for to begin with. */
export function redirectOf(
  first: HttpGet,
  asked: HttpGet,
  { status, location = "" }: { readonly status: number; readonly location: string | undefined },
  questions: number,
): Redirect {
  if (!REDIRECTS.has(status) || location === "") return { kind: "none" };
  const url = URL.parse(location, urlOf(asked));
  if (url === null) {
    const detail = `failed to parse Location header ${JSON.stringify(location)}`;
    return { kind: "refused", url: urlOf(asked), detail };
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (host !== first.host.toLowerCase()) return { kind: "none" };
  if (questions >= QUESTIONS_MAX) {
    return { kind: "refused", url: location, detail: `stopped after ${QUESTIONS_MAX} redirects` };
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    const detail = `unsupported protocol scheme ${JSON.stringify(url.protocol.slice(0, -1))}`;
    return { kind: "refused", url: location, detail };
  }
  const scheme = url.protocol === "https:" ? "https" : "http";
  const port = url.port === "" ? (scheme === "https" ? 443 : 80) : Number(url.port);
  const authority = keptHost(first, location) ?? hostAndPort(host, port);
  const kept = first.headers.filter(([name]) => name !== "Host" && name.toLowerCase() !== "referer");
  const headers = [["Host", authority], ...kept, ["Referer", urlOf(asked)]] as const;
  return { kind: "follow", get: { scheme, host, port, target: `${url.pathname}${url.search}`, headers } };
}

/** A host that was given by name stays with what the server names by its path alone. */
function keptHost({ headers, host, port }: HttpGet, location: string): string | undefined {
  const given = headers.find(([name]) => name === "Host")?.[1];
  const isRelative = !/^(?:[A-Za-z][A-Za-z0-9+.-]*:|\/\/)/.test(location);
  return isRelative && given !== hostAndPort(host, port) ? given : undefined;
}
