/** Decides which addresses a node publishes. */
import type { NodeAddress } from "../../api/gen/core-v1.ts";
import { type IpAddress, parseIp, scopeOf } from "../../base/ip-address.ts";

export interface AddressOptions {
  readonly hostname: string;
  /**
   * The operator's node IPs: none, one, or two of different families. An unspecified one ("0.0.0.0", "::") selects the
   * family that is looked for first.
   */
  readonly nodeIps: readonly IpAddress[];
  readonly externalCloud: boolean;
}

export interface AddressFacts {
  /** The addresses of this machine's interfaces, as canonical texts. */
  readonly local: ReadonlySet<string>;
  /** The addresses that the node's name resolves to. */
  readonly resolved: readonly string[];
  readonly defaultRoutes: { readonly IPv4: string | undefined; readonly IPv6: string | undefined };
}

export type AddressDecision =
  | { readonly kind: "set"; readonly addresses: readonly NodeAddress[] }
  /**
   * The Node keeps its addresses, because a cloud controller maintains them, or because none could be determined:
   * `trouble` then says why.
   */
  | { readonly kind: "keep"; readonly trouble: string | undefined };

/** Whether the decision depends on name resolution and default routes, which are costly to read. */
export function needsResolving(options: AddressOptions, existing: readonly NodeAddress[]): boolean {
  if (options.externalCloud && (existing.length > 0 || options.nodeIps.length === 0)) return false;
  return given(options.nodeIps[0]) === undefined && parseIp(options.hostname) === undefined;
}

export function nodeAddresses(
  options: AddressOptions,
  existing: readonly NodeAddress[],
  facts: AddressFacts,
): AddressDecision {
  const [first, second] = [given(options.nodeIps[0]), given(options.nodeIps[1])];
  for (const [address, name] of [
    [first, "nodeIP"],
    [second, "secondaryNodeIP"],
  ] as const) {
    const why = address === undefined ? undefined : unusable(address, facts.local);
    if (why !== undefined) return { kind: "keep", trouble: `failed to validate ${name}: ${why}` };
  }
  if (options.externalCloud) {
    if (existing.length > 0) return { kind: "keep", trouble: undefined };
    if (options.nodeIps.length === 0) return set(options.hostname);
  }
  if (first !== undefined) return set(options.hostname, first, ...(second === undefined ? [] : [second]));
  const found = parseIp(options.hostname) ?? resolvedAddress(options, facts) ?? routeAddress(options, facts);
  if (found !== undefined) return set(options.hostname, found);
  const trouble = `can't get ip address of node ${options.hostname}. error: no address by name or default route`;
  return { kind: "keep", trouble };
}

/** The operator's addresses, for a cloud controller. */
export function providedNodeIp({ externalCloud, nodeIps }: AddressOptions): string | undefined {
  const [first, second] = [given(nodeIps[0]), given(nodeIps[1])];
  if (!externalCloud || first === undefined) return undefined;
  return second === undefined ? first.text : `${first.text},${second.text}`;
}

const given = (address: IpAddress | undefined) =>
  address === undefined || scopeOf(address) === "unspecified" ? undefined : address;

function set(hostname: string, ...addresses: readonly IpAddress[]): AddressDecision {
  const internal = addresses.map(({ text }) => ({ type: "InternalIP", address: text }));
  return { kind: "set", addresses: [...internal, { type: "Hostname", address: hostname }] };
}

const UNUSABLE = {
  loopback: "nodeIP can't be loopback address",
  multicast: "nodeIP can't be a multicast address",
  linkLocal: "nodeIP can't be a link-local unicast address",
  unspecified: "nodeIP can't be an all zeros address",
  other: undefined,
};

function unusable(address: IpAddress, local: ReadonlySet<string>): string | undefined {
  const why = UNUSABLE[scopeOf(address)];
  if (why !== undefined || local.has(address.text)) return why;
  return `node IP: ${JSON.stringify(address.text)} not found in the host's network interfaces`;
}

const familyFirst = ({ nodeIps }: AddressOptions) => nodeIps[0]?.family ?? "IPv4";

function resolvedAddress(options: AddressOptions, { resolved, local }: AddressFacts): IpAddress | undefined {
  const usable = resolved
    .map(parseIp)
    .filter((address) => address !== undefined)
    .filter((address) => unusable(address, local) === undefined);
  return usable.find(({ family }) => family === familyFirst(options)) ?? usable[0];
}

function routeAddress(options: AddressOptions, { defaultRoutes }: AddressFacts): IpAddress | undefined {
  const first = familyFirst(options);
  return parseIp(defaultRoutes[first] ?? defaultRoutes[first === "IPv4" ? "IPv6" : "IPv4"] ?? "");
}
