/** The hosts file of a pod's containers, byte for byte in the format that tools expect of a kubelet. */
import type { Container, HostAlias, Pod } from "../../api/gen/core-v1.ts";
import { concatBytes } from "../../base/bytes.ts";
import { utf8Bytes } from "../../base/utf8.ts";

export const HOSTS_PATH = "/etc/hosts";

const HEADER = "# Kubernetes-managed hosts file.\n";
const HOST_NETWORK_HEADER = "# Kubernetes-managed hosts file (host network).\n";
const LOCAL = [
  "127.0.0.1\tlocalhost\n",
  "::1\tlocalhost ip6-localhost ip6-loopback\n",
  "fe00::0\tip6-localnet\n",
  "fe00::0\tip6-mcastprefix\n",
  "fe00::1\tip6-allnodes\n",
  "fe00::2\tip6-allrouters\n",
].join("");

export const hostsFileOf = (podDirectory: string): string => `${podDirectory}/etc-hosts`;

/** False if the container mounts its own file there, or if a pod off the host network has no IP yet. */
export const needsHostsFile = ({ spec }: Pod, { volumeMounts }: Container, podIps: readonly string[]): boolean =>
  (podIps.length > 0 || spec?.hostNetwork === true) &&
  !(volumeMounts ?? []).some(({ mountPath }) => mountPath === HOSTS_PATH);

export interface PodHosts {
  readonly podIps: readonly string[];
  readonly hostname: string;
  /** Empty: the pod has no domain. */
  readonly domain: string;
}

export function podHostsFile(pod: Pod, { podIps, hostname, domain }: PodHosts): Uint8Array {
  const names = domain === "" ? hostname : `${hostname}.${domain}\t${hostname}`;
  const own = podIps.map((ip) => `${ip}\t${names}\n`).join("");
  return utf8Bytes(`${HEADER}${LOCAL}${own}${aliases(pod.spec?.hostAliases ?? [])}`);
}

/** For a pod on the host network: the bytes of the node's own file, with the pod's aliases. */
export const nodeHostsFile = (pod: Pod, ofNode: Uint8Array): Uint8Array =>
  concatBytes([utf8Bytes(HOST_NETWORK_HEADER), ofNode, utf8Bytes(aliases(pod.spec?.hostAliases ?? []))]);

function aliases(hostAliases: readonly HostAlias[]): string {
  if (hostAliases.length === 0) return "";
  const lines = hostAliases.map(({ ip, hostnames }) => `${ip}\t${(hostnames ?? []).join("\t")}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join("")}`;
}
