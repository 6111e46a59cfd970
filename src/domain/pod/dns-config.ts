/** The resolver a pod gets, from its policy, its own wishes, the cluster's and the host's settings. */
import type { Pod } from "../../api/gen/core-v1.ts";

export interface ResolverConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface DnsSettings {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** Of the node's own resolver file. */
  readonly host: ResolverConfig;
}

export function podDns(pod: Pod, settings: DnsSettings): ResolverConfig {
  const base = ofPolicy(pod, settings);
  const own = pod.spec?.dnsConfig;
  if (own === undefined) return base;
  const options = new Map(base.options.map((option) => [optionName(option), option]));
  for (const { name, value } of own.options ?? []) {
    if (name !== undefined && name !== "")
      options.set(name, value === undefined || value === "" ? name : `${name}:${value}`);
  }
  return {
    servers: unique([...base.servers, ...(own.nameservers ?? [])]),
    searches: unique([...base.searches, ...(own.searches ?? [])]),
    options: [...options.values()],
  };
}

function ofPolicy(pod: Pod, { clusterDns, clusterDomain, host }: DnsSettings): ResolverConfig {
  const onNode = pod.spec?.hostNetwork === true;
  const policy = pod.spec?.dnsPolicy ?? "ClusterFirst";
  if (policy === "None") return { servers: [], searches: [], options: [] };
  const ofCluster = policy === "ClusterFirstWithHostNet" || (policy === "ClusterFirst" && !onNode);
  if (!ofCluster || clusterDns.length === 0) return host;
  const namespace = pod.metadata?.namespace ?? "";
  const searches =
    clusterDomain === "" ? [] : [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return { servers: clusterDns, searches: unique([...searches, ...host.searches]), options: ["ndots:5"] };
}

const optionName = (option: string) => option.split(":", 1)[0] ?? option;
const unique = (items: readonly string[]) => [...new Set(items)];

/** Of a resolver file. What it does not know it leaves out, as resolvers do. */
export function parseResolverFile(text: string): ResolverConfig {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  let options: readonly string[] = [];
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line
      .replace(/[#;].*$/, "")
      .trim()
      .split(/\s+/);
    if (keyword === "nameserver" && values[0] !== undefined) servers.push(values[0]);
    // The last line of its kind counts.
    if (keyword === "search")
      searches = values.map((name) => (name === "." ? name : name.replace(/\.$/, ""))).filter((name) => name !== ".");
    if (keyword === "options") options = values;
  }
  return { servers, searches, options };
}
