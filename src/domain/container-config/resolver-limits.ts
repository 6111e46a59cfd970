/** The limits of resolvers: beyond them some resolvers ignore the rest, and others fail. */
import { goQuote } from "../../base/go-text.ts";
import { utf8Bytes } from "../../base/utf8.ts";

export interface ResolverConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

const SERVERS_MAX = 3;
const SEARCHES_MAX = 32;
const SEARCH_LINE_BYTES_MAX = 2048;
const SEARCH_BYTES_MAX = 253;
/** The number of searches that the cluster adds before the host's. */
const CLUSTER_SEARCHES = 3;

const bytesIn = (text: string) => utf8Bytes(text).length;

export interface Fitting {
  readonly kept: readonly string[];
  readonly trouble: string | undefined;
}

export function fittingServers(servers: readonly string[]): Fitting {
  if (servers.length <= SERVERS_MAX) return { kept: servers, trouble: undefined };
  const kept = servers.slice(0, SERVERS_MAX);
  const trouble = `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${kept.join(" ")}`;
  return { kept, trouble };
}

/** Keeps the first searches that fit. A single search that is too long is dropped without affecting the others. */
export function fittingSearches(searches: readonly string[]): Fitting {
  const kept = searches.slice(0, SEARCHES_MAX).filter((search) => bytesIn(search) <= SEARCH_BYTES_MAX);
  while (bytesIn(kept.join(" ")) > SEARCH_LINE_BYTES_MAX) kept.pop();
  if (kept.length === searches.length) return { kept, trouble: undefined };
  const trouble = `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${kept.join(" ")}`;
  return { kept, trouble };
}

/** Returns the problem of a node's resolver file, reported once at startup; undefined: everything fits. */
export function resolverFileTrouble(
  path: string,
  { searches }: ResolverConfig,
  clusterDomain: string,
): string | undefined {
  const most = clusterDomain === "" ? SEARCHES_MAX : SEARCHES_MAX - CLUSTER_SEARCHES;
  if (searches.length > most) {
    return `Resolv.conf file '${path}' contains search line consisting of more than ${most} domains!`;
  }
  if (searches.some((search) => bytesIn(search) > SEARCH_BYTES_MAX)) {
    return `Resolv.conf file ${goQuote(path)} contains a search path which length is more than allowed ${SEARCH_BYTES_MAX} chars!`;
  }
  if (bytesIn(searches.join(" ")) > SEARCH_LINE_BYTES_MAX) {
    return `Resolv.conf file '${path}' contains search line which length is more than allowed ${SEARCH_LINE_BYTES_MAX} chars!`;
  }
  return undefined;
}
