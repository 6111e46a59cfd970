/** The GET request of an HTTP probe or hook. `ports/http-redirect.ts` handles redirects. */
import type { Container, HTTPGetAction } from "../../api/gen/core-v1.ts";
import { hostAndPort, resolvePort } from "./container-port.ts";
import { requestTarget } from "./request-target.ts";

export interface HttpGet {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  /** The path with its query, as sent in the request. */
  readonly target: string;
  /** In sending order; a name may occur more than once. Host is included. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export type HttpGetAnswer =
  | { readonly kind: "get"; readonly get: HttpGet }
  | { readonly kind: "refused"; readonly message: string };

/** The User-Agent of a kubelet of this version; `version` has the form "v1.36.4". */
export function userAgentOf(purpose: "probe" | "lifecycle", version: string): string {
  const [major = "", minor = ""] = version.slice(1).split(".");
  return `kube-${purpose}/${major}.${minor}`;
}

/** `ip`: the pod's address, used if the action names no host. */
export function httpGetOf(
  action: HTTPGetAction,
  container: Pick<Container, "ports">,
  ip: string,
  userAgent: string,
): HttpGetAnswer {
  const found = resolvePort(action.port, container);
  if (found.kind === "refused") return found;
  const host = action.host || ip;
  const { port } = found;
  const headers = headersOf(action, hostAndPort(host, port), userAgent);
  const scheme = action.scheme?.toLowerCase() === "https" ? "https" : "http";
  return { kind: "get", get: { scheme, host, port, target: requestTarget(action.path ?? ""), headers } };
}

/**
 * Headers that are handled one by one, and headers that set the request's length or how it ends: users cannot set
 * these.
 */
const SET_APART = new Set([
  "host",
  "user-agent",
  "accept",
  "content-length",
  "transfer-encoding",
  "trailer",
  "connection",
]);

function headersOf({ httpHeaders = [] }: HTTPGetAction, authority: string, userAgent: string): HttpGet["headers"] {
  const given = (wanted: string) =>
    httpHeaders.filter(({ name }) => name.toLowerCase() === wanted).map(({ value }) => value);
  const [host = "", agent = userAgent] = [given("host")[0], given("user-agent")[0]];
  const accepts = given("accept");
  // An empty value removes the header.
  const accepted = accepts[0] === "" ? [] : accepts.length === 0 ? ["*/*"] : accepts;
  const others = httpHeaders.filter(({ name }) => !SET_APART.has(name.toLowerCase()));
  return [
    ["Host", host || authority],
    ...(agent === "" ? [] : [["User-Agent", agent] as const]),
    ...others.map(({ name, value }) => [name, value] as const),
    ...accepted.map((value) => ["Accept", value] as const),
    ["Connection", "close"],
  ];
}

export const urlOf = ({ scheme, host, port, target }: HttpGet): string =>
  `${scheme}://${hostAndPort(host, port)}${target}`;
