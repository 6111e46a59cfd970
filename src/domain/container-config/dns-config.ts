/**
 * The resolver configuration of a pod, from its DNS policy, its dnsConfig, the cluster's and the host's settings,
 * within the limits of resolvers. Warnings report what was left out and which fallbacks were used.
 */
import type { Pod, PodDNSConfigOption } from "../../api/gen/core-v1.ts";
import { parseIp } from "../../base/ip-address.ts";
import { describePod, podNameOfObject } from "../pod/pod-names.ts";
import { fittingSearches, fittingServers, type ResolverConfig } from "./resolver-limits.ts";

export interface DnsSettings {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** From the node's own resolver file; undefined: pods inherit nothing from it. */
  readonly host: ResolverConfig | undefined;
  /** The node IPs that the operator configured. */
  readonly nodeIps: readonly string[];
}

export interface DnsWarning {
  readonly about: "pod" | "node";
  readonly reason: "DNSConfigForming" | "MissingClusterDNS";
  readonly message: string;
}

export interface PodDns {
  readonly config: ResolverConfig;
  readonly warnings: readonly DnsWarning[];
}

export function podDns(pod: Pod, settings: DnsSettings): PodDns {
  const { config: base, warnings } = ofPolicy(pod, settings);
  const own = pod.spec?.dnsConfig;
  const servers = fittingServers(
    own === undefined ? base.servers : unique([...base.servers, ...(own.nameservers ?? [])]),
  );
  const searches = fittingSearches(
    own === undefined ? base.searches : unique([...base.searches, ...(own.searches ?? [])]),
  );
  const cut = [servers.trouble, searches.trouble].filter((trouble) => trouble !== undefined);
  return {
    config: {
      servers: servers.kept,
      searches: searches.kept,
      options: own === undefined ? base.options : withOptions(base.options, own.options ?? []),
    },
    warnings: [...warnings, ...cut.map((message) => ({ about: "pod", reason: "DNSConfigForming", message }) as const)],
  };
}

function ofPolicy(pod: Pod, settings: DnsSettings): PodDns {
  const policy = pod.spec?.dnsPolicy ?? "ClusterFirst";
  if (policy === "None") return { config: { servers: [], searches: [], options: [] }, warnings: [] };
  const onNode = pod.spec?.hostNetwork === true;
  const ofHost = policy === "Default" || (policy === "ClusterFirst" && onNode);
  if (ofHost) return { config: hostConfig(settings), warnings: [] };
  const { clusterDns, clusterDomain, host } = settings;
  if (clusterDns.length === 0) return { config: hostConfig(settings), warnings: missingClusterDns(pod) };
  const ofCluster =
    clusterDomain === ""
      ? []
      : [`${pod.metadata?.namespace ?? ""}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  const searches = clusterDomain === "" ? (host?.searches ?? []) : unique([...ofCluster, ...(host?.searches ?? [])]);
  return { config: { servers: clusterDns, searches, options: ["ndots:5"] }, warnings: [] };
}

/**
 * Without host settings, the resolver is the pod's own loopback, in each IP family of the node, and "." is the only
 * search.
 */
function hostConfig({ host, nodeIps }: DnsSettings): ResolverConfig {
  if (host !== undefined) return host;
  const servers = nodeIps.map((ip) => (parseIp(ip)?.family === "IPv6" ? "::1" : "127.0.0.1"));
  return { servers: servers.length === 0 ? ["127.0.0.1"] : servers, searches: ["."], options: [] };
}

function missingClusterDns(pod: Pod): readonly DnsWarning[] {
  const message =
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
  const reason = "MissingClusterDNS";
  return [
    { about: "node", reason, message },
    { about: "pod", reason, message: `pod: "${describePod(podNameOfObject(pod))}". ${message}` },
  ];
}

/** The pod's options replace base options of the same name. */
function withOptions(base: readonly string[], own: readonly PodDNSConfigOption[]): readonly string[] {
  const options = new Map(base.map((option) => [optionName(option), option]));
  for (const { name = "", value = "" } of own) {
    if (name !== "") options.set(name, value === "" ? name : `${name}:${value}`);
  }
  return [...options.values()];
}

const optionName = (option: string) => option.split(":", 1)[0] ?? option;
const unique = (items: readonly string[]) => [...new Set(items)];
