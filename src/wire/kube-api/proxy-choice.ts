/**
 * Decides whether the API server is reached through an HTTP proxy: the proxy-url of the kubeconfig, or HTTPS_PROXY
 * unless NO_PROXY excludes the server. The variables are read as Go's net/http reads them.
 */
import { BlockList, isIP } from "node:net";
import { parseIp, scopeOf } from "../../base/ip-address.ts";
import { unbracketed } from "./connection.ts";

const PROXY_SCHEMES: readonly string[] = ["http:", "https:"];

/** Throws for a text that names no HTTP proxy. No message contains a part of it: there may be a password in it. */
export function parseProxyUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new Error("it is no URL");
  if (!PROXY_SCHEMES.includes(url.protocol)) throw new Error("unsupported scheme, must be http or https");
  if (!isDecodable(url.username) || !isDecodable(url.password)) throw new Error("its user or password has a stray %");
  return url;
}

/** Undefined: without a proxy. Throws if HTTPS_PROXY names none. */
export function proxyFromEnvironment(
  server: URL,
  environment: Readonly<Record<string, string | undefined>>,
): URL | undefined {
  const variable = (name: string) => environment[name] || environment[name.toLowerCase()] || "";
  const written = variable("HTTPS_PROXY");
  if (written === "" || isExcluded(server, variable("NO_PROXY"))) return undefined;
  return parseProxyUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(written) ? written : `http://${written}`);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function isExcluded(server: URL, noProxy: string): boolean {
  const host = unbracketed(server.hostname).toLowerCase();
  const port = server.port === "" ? "443" : server.port;
  const address = parseIp(host);
  if (host === "localhost" || (address !== undefined && scopeOf(address) === "loopback")) return true;
  const entries = noProxy.split(",").map((entry) => entry.trim().toLowerCase());
  return entries.some((entry) => entry !== "" && matches(entry, host, port));
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  const [, network = "", bits = ""] = /^([^/]+)\/(\d+)$/.exec(entry) ?? [];
  if (isIP(network) !== 0) return isIn(network, Number(bits), host);
  const [, named = entry, ofPort = ""] = /^(\[[^\]]*\]|[^:]*):(\d*)$/.exec(entry) ?? [];
  if (ofPort !== "" && ofPort !== port) return false;
  const wanted = unbracketed(named);
  if (wanted === "") return false;
  if (isIP(wanted) !== 0) return parseIp(wanted)?.text === parseIp(host)?.text;
  // "example.com" stands for itself and its subdomains, ".example.com" and "*.example.com" for the subdomains only.
  const suffix = wanted.replace(/^\*(?=\.)/, "");
  return suffix.startsWith(".") ? host.endsWith(suffix) : host === suffix || host.endsWith(`.${suffix}`);
}

function isIn(network: string, bits: number, host: string): boolean {
  const [family, own] = [isIP(network), isIP(host)];
  if (own === 0 || own !== family || bits > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  const type = family === 4 ? "ipv4" : "ipv6";
  list.addSubnet(network, bits, type);
  return list.check(host, type);
}
