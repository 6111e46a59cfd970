/** A pod's addresses and its host's: at most one of each family, the family of the node's first address first. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { type IpAddress, parseIp } from "../../base/ip-address.ts";

/** What the Node says of itself, inside addresses before outside ones. */
export function hostAddresses(
  addresses: readonly { readonly type: string; readonly address: string }[],
): readonly string[] {
  const ofType = (wanted: string) => addresses.filter(({ type }) => type === wanted).map(({ address }) => address);
  const all = parsed([...ofType("InternalIP"), ...ofType("ExternalIP")]);
  return onePerFamily(all, all[0]?.family ?? "IPv4");
}

/**
 * Addresses stay known while the sandbox has none. A pod on the node's network keeps the address it had, and gets a second one when
 * the node comes to have both families.
 */
export function podAddresses(
  pod: Pod,
  before: readonly string[],
  hostIps: readonly string[],
  sandboxIps: readonly string[],
): readonly string[] {
  const primary = parsed(hostIps)[0]?.family ?? "IPv4";
  if (pod.spec?.hostNetwork !== true) {
    const own = onePerFamily(parsed(sandboxIps), primary);
    return own.length === 0 ? before : own;
  }
  const [first = hostIps[0], second] = before;
  if (first === undefined) return [];
  const other = parsed(hostIps).find(({ family }) => family !== parseIp(first)?.family)?.text;
  return [
    first,
    ...(second === undefined ? [] : [second]),
    ...(second === undefined && other !== undefined ? [other] : []),
  ];
}

const parsed = (texts: readonly string[]): readonly IpAddress[] =>
  texts.map((text) => parseIp(text)).filter((ip) => ip !== undefined);

function onePerFamily(ips: readonly IpAddress[], primary: IpAddress["family"]): readonly string[] {
  const first = ips.find(({ family }) => family === primary);
  const second = ips.find(({ family }) => family !== primary);
  return [first, second].flatMap((ip) => (ip === undefined ? [] : [ip.text]));
}
