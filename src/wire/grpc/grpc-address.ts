/** Parses the address of a gRPC server, in gRPC's naming syntax. */
import { isIP } from "node:net";

export type GrpcAddress =
  | { readonly kind: "socket"; readonly path: string }
  /** `nameServer`: the DNS server that resolves the host; empty: the machine's own resolver. */
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly nameServer: string };

/** gRPC's default port, for an address without one. */
const UNSAID_PORT = 443;

/** "unix:///path", "unix-abstract:name", "dns://[name server]/host:port" or "host:port". Throws for anything else. */
export function parseGrpcAddress(endpoint: string): GrpcAddress {
  const {
    scheme = "dns",
    authority = "",
    rest = "",
  } = /^(?:(?<scheme>unix|unix-abstract|dns):)?(?:\/\/(?<authority>[^/]*)(?:\/|$))?(?<rest>.*)$/.exec(endpoint)
    ?.groups ?? {};
  if (scheme === "dns") return { kind: "tcp", ...hostAndPort(rest, endpoint), nameServer: authority };
  // The slash that ended the authority belongs to the path.
  const path = /^[^:]+:\/\//.test(endpoint) ? `/${rest}` : rest;
  if (authority !== "" || path === "" || path === "/") throw new Error(`not the address of a socket: ${endpoint}`);
  return { kind: "socket", path: scheme === "unix" ? path : `\0${path}` };
}

function hostAndPort(text: string, endpoint: string): { readonly host: string; readonly port: number } {
  if (isIP(text) === 6) return { host: text, port: UNSAID_PORT };
  const { bracketed, plain, port } =
    /^(?:\[(?<bracketed>[^\]]*)\]|(?<plain>[^:]*))(?::(?<port>\d+))?$/.exec(text)?.groups ?? {};
  const host = bracketed ?? plain ?? "";
  const number = port === undefined ? UNSAID_PORT : Number(port);
  if (host === "" || number > 65_535) throw new Error(`not an address: ${endpoint}`);
  return { host, port: number };
}

/** The `:authority` that is sent to the server. */
export function authorityOf(address: GrpcAddress): string {
  // grpc-go servers refuse odd authorities, such as a socket's path.
  if (address.kind === "socket") return "localhost";
  return isIP(address.host) === 6 ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}
