/**
 * What credentials apply to: a registry's host, optionally with wildcards in its labels, a port, and a path prefix.
 * Both registries and the repositories that they are compared with are URLs without a scheme.
 */
import { matchesGlob } from "../../base/glob.ts";

/** The form of a registry for comparison and sorting; undefined for an invalid one. */
export function normalRegistry(written: string): string | undefined {
  const url = parseUrl(written.replace(/^https?:\/\//, ""));
  if (url === undefined) return undefined;
  // URLs of the first registries contain the version of the API.
  const path = /^\/v[12]\//.test(url.path) ? url.path.slice(3) : url.path;
  return path === "/" ? url.host : url.host + path;
}

export function registryMatches(registry: string, repository: string): boolean {
  const [wanted, found] = [parseUrl(registry), parseUrl(repository)];
  if (wanted === undefined || found === undefined) return false;
  const [ours, theirs] = [splitHost(wanted.host), splitHost(found.host)];
  return (
    ours.port === theirs.port &&
    ours.labels.length === theirs.labels.length &&
    found.path.startsWith(wanted.path) &&
    ours.labels.every((label, index) => matchesGlob(label, theirs.labels[index] ?? ""))
  );
}

interface Url {
  readonly host: string;
  readonly path: string;
}

const URL = /^(?:(?<login>[^/?#]*)@)?(?<host>[^/?#]*)(?<path>[^?#]*)/;
const LOGIN = /^[\w.:~!$&'()*+,;=%@-]*$/;
const HOST = /^(?:\[[0-9A-Fa-f:.]+\](?::[0-9]*)?|[^[\]:\s%\\^`{|}]*|[^[\]\s%\\^`{|}]*:[0-9]*)$/;

function parseUrl(text: string): Url | undefined {
  const { login = "", host = "", path = "" } = URL.exec(text)?.groups ?? {};
  return LOGIN.test(login) && HOST.test(host) && !/\p{Cc}/u.test(text) ? { host, path } : undefined;
}

function splitHost(host: string): { readonly labels: readonly string[]; readonly port: string } {
  const { name = host, port = "" } = /^(?<name>\[[^\]]*\]|[^:]*):(?<port>[0-9]*)$/.exec(host)?.groups ?? {};
  return { labels: name.split("."), port };
}
