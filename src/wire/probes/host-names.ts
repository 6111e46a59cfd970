/**
 * Resolves the host name of a probe or a hook: from the hosts file, otherwise from the name servers, with the search
 * domains of the node's resolver file, as Go's resolver does.
 *
 * Node's own way is getaddrinfo, which cannot be canceled and holds one of the process's few threads while a name
 * server is silent. A pod could choose names that nobody answers for, and block every other lookup of the agent. Here
 * each lookup has its own sockets and ends with its connection.
 */
import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { parseResolverFile } from "../../domain/container-config/resolver-file.ts";

export interface NameSources {
  readonly hostsFile: string;
  readonly resolverFile: string;
  /** Undefined: the name servers that Node finds by default. */
  readonly servers?: readonly string[];
}

export const NODE_NAMES: NameSources = { hostsFile: "/etc/hosts", resolverFile: "/etc/resolv.conf" };

/** For `connect`: the caller passes the socket to `endWith`, and the lookup ends with the socket. */
export function hostNames(sources: NameSources): {
  readonly lookup: LookupFunction;
  readonly endWith: (socket: Socket) => void;
} {
  const resolver = new Resolver();
  if (sources.servers !== undefined) resolver.setServers(sources.servers);
  return {
    lookup: (host, options, done) => {
      const family = options.family === 4 || options.family === 6 ? options.family : undefined;
      addressesOf(host, resolver, sources).then(
        (all) => {
          const found = all
            .map((address) => ({ address, family: isIP(address) }))
            .filter((one) => family === undefined || one.family === family);
          const [first] = found;
          if (first === undefined) done(lookupError(host, "ENOTFOUND"), "");
          else if (options.all === true) done(null, found);
          else done(null, first.address, first.family);
        },
        (error: unknown) => done(lookupError(host, isUnknown(error) ? "ENOTFOUND" : "EAI_AGAIN", error), ""),
      );
    },
    endWith: (socket) => void socket.once("close", () => resolver.cancel()),
  };
}

/** In the form of getaddrinfo's errors. */
const lookupError = (host: string, code: string, cause?: unknown): NodeJS.ErrnoException =>
  Object.assign(new Error(`lookup ${host}: ${code}`, { cause }), { code, syscall: "getaddrinfo" });

const UNKNOWN = new Set(["ENOTFOUND", "ENODATA"]);

const isUnknown = (error: unknown): boolean =>
  error instanceof Error && "code" in error && UNKNOWN.has(String(error.code));

async function addressesOf(host: string, resolver: Resolver, sources: NameSources): Promise<readonly string[]> {
  const listed = hostsOf(await readFile(sources.hostsFile, "utf8")).get(host.toLowerCase());
  if (listed !== undefined) return listed;
  for (const name of candidates(host, await readFile(sources.resolverFile, "utf8"))) {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (addresses.length > 0) return addresses;
    for (const answer of answers) if (answer.status === "rejected" && !isUnknown(answer.reason)) throw answer.reason;
  }
  return [];
}

function hostsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...names] = (line.split("#", 1)[0] ?? "").split(/\s+/).filter((word) => word !== "");
    if (isIP(address) === 0) continue;
    for (const name of names) hosts.set(name.toLowerCase(), [...(hosts.get(name.toLowerCase()) ?? []), address]);
  }
  return hosts;
}

/** In the order in which they are queried. */
function candidates(host: string, resolverText: string): readonly string[] {
  if (host.endsWith(".")) return [host];
  const file = parseResolverFile(resolverText);
  const { searches, options } = file.kind === "parsed" ? file.config : { searches: [], options: [] };
  const reported = options.find((option) => option.startsWith("ndots:"))?.slice("ndots:".length);
  const dotsMin = reported === undefined ? 1 : Number.parseInt(reported, 10);
  const searched = searches.map((domain) => `${host}.${domain}`);
  return host.split(".").length - 1 >= dotsMin ? [host, ...searched] : [...searched, host];
}
