/**
 * IP addresses of a pod and of its host: at most one per family, starting with the family of the node's first address.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { type IpAddress, parseIp } from "../../base/ip-address.ts";

/** IP addresses in the Node's status: InternalIP addresses before ExternalIP addresses. */
export function hostAddresses(
  addresses: readonly { readonly type: string; readonly address: string }[],
): readonly string[] {
  const ofType = (wanted: string) => addresses.filter(({ type }) => type === wanted).map(({ address }) => address);
  const all = parsed([...ofType("InternalIP"), ...ofType("ExternalIP")]);
  return onePerFamily(all, all[0]?.family ?? "IPv4");
}

/**
 * A pod keeps its published addresses while its sandbox has none. A hostNetwork pod keeps its address and gets a second
 * one when the node becomes dual-stack.
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
