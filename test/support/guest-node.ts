/**
 * A guest as a node of a cluster whose control plane runs on the host: how the guest reaches the API server, and the
 * node's files, at the paths that kubeadm uses.
 */
import { readFile } from "node:fs/promises";
import { makeSelfSigned } from "../../src/controllers/identity/self-signed.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { hostKeys } from "../../src/wire/host/keys.ts";
import { hostRandom } from "../../src/wire/host/random.ts";
import type { CertificateFiles } from "../cluster/certificates.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { SERVICE_DNS } from "../cluster/layout.ts";
import type { Payloads } from "../guest/disks.ts";
import type { Guest } from "../guest/guest.ts";

/** The host name of every guest, unless another is given. */
export const GUEST_NODE = "guest";
/** The address of the guest's network interface to the host. */
export const GUEST_ADDRESS = "10.0.2.15";
/** The API server's address in the guest, and the name in its certificate. */
export const API = { address: "10.0.2.100", port: 6443, name: "kubernetes" } as const;

export const NODE_FILES = {
  kubeconfig: "/etc/kubernetes/kubelet.conf",
  bootstrapKubeconfig: "/etc/kubernetes/bootstrap-kubelet.conf",
  authority: "/etc/kubernetes/pki/ca.crt",
  config: "/var/lib/kubelet/config.yaml",
  client: { certFile: "/var/lib/kubelet/pki/client.crt", keyFile: "/var/lib/kubelet/pki/client.key" },
  serving: { certFile: "/var/lib/kubelet/pki/serving.crt", keyFile: "/var/lib/kubelet/pki/serving.key" },
  resolvConf: "/etc/resolv.conf",
} as const;

/** The configuration as kubeadm writes it, with settings of the test. */
const CONFIG = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous:
    enabled: false
  webhook:
    enabled: true
  x509:
    clientCAFile: ${NODE_FILES.authority}
authorization:
  mode: Webhook
cgroupDriver: systemd
clusterDNS:
- ${SERVICE_DNS}
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
resolvConf: ${NODE_FILES.resolvConf}
staticPodPath: /etc/kubernetes/manifests
tlsCertFile: ${NODE_FILES.serving.certFile}
tlsPrivateKeyFile: ${NODE_FILES.serving.keyFile}
`;

/** The flags of kubeadm's drop-in, and the address: a guest has no default route from which to derive it. */
export const NODE_FLAGS = [
  `--bootstrap-kubeconfig=${NODE_FILES.bootstrapKubeconfig}`,
  `--kubeconfig=${NODE_FILES.kubeconfig}`,
  `--config=${NODE_FILES.config}`,
  `--node-ip=${GUEST_ADDRESS}`,
] as const;

/**
 * Connects the guest to the host and writes the node's files; starts no agent. `more`: further YAML lines of the
 * configuration.
 */
export async function makeNode(guest: Guest, cluster: Cluster, more = ""): Promise<void> {
  const { api } = cluster;
  await reachApi(guest, cluster);
  const client = await api.clientCertificate(`system:node:${GUEST_NODE}`, ["system:nodes"]);
  await guest.put({
    [NODE_FILES.config]: { content: `${CONFIG}${more}` },
    ...(await filesOfCluster(cluster, NODE_FILES.client)),
    ...pairFiles(NODE_FILES.client, await readPair(client)),
    ...pairFiles(NODE_FILES.serving, selfSigned(0)),
  });
}

/** Connects the guest's network interface to the host. */
export const reachApi = (guest: Guest, { layout }: Cluster): Promise<void> =>
  guest.reach({ guest: API, host: { address: layout.address, port: API.port } });

/** The files that describe the cluster to a node whose certificate is in `client`. */
export async function filesOfCluster(cluster: Cluster, client: CertificateFiles): Promise<Payloads> {
  return {
    [NODE_FILES.kubeconfig]: {
      content: JSON.stringify(await kubeconfigOf(cluster, client), undefined, 2),
      mode: 0o600,
    },
    [NODE_FILES.authority]: { from: cluster.api.caFile },
    // No server listens there. The guest image names no server, so that lookups fail at once, but a sound node has one.
    [NODE_FILES.resolvConf]: { content: `nameserver ${SERVICE_DNS}\n` },
  };
}

async function kubeconfigOf({ api }: Cluster, { certFile, keyFile }: CertificateFiles) {
  const cluster = {
    server: `https://${API.address}:${API.port}`,
    "tls-server-name": API.name,
    "certificate-authority-data": await readFile(api.caFile, "base64"),
  };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "cluster", cluster }],
    users: [{ name: "node", user: { "client-certificate": certFile, "client-key": keyFile } }],
    contexts: [{ name: "node", context: { cluster: "cluster", user: "node" } }],
    "current-context": "node",
  };
}

export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

export const pairFiles = ({ certFile, keyFile }: CertificateFiles, { certificate, key }: Pair): Payloads => ({
  [certFile]: { content: certificate },
  [keyFile]: { content: key, mode: 0o600 },
});

export async function readPair({ certFile, keyFile }: CertificateFiles): Promise<Pair> {
  return { certificate: await readFile(certFile, "utf8"), key: await readFile(keyFile, "utf8") };
}

const DAY_MS = 86_400_000;

/** A self-signed certificate, valid for a year from `beginDays` days after now. No API server trusts it. */
export function selfSigned(beginDays: number): Pair {
  const clock = { ...hostClock, wallMs: () => hostClock.wallMs() + beginDays * DAY_MS };
  const parts = { clock, random: hostRandom, keys: hostKeys };
  const { certificatePem, keyPem } = makeSelfSigned(parts, { host: GUEST_NODE, addresses: [GUEST_ADDRESS] });
  return { certificate: certificatePem, key: keyPem };
}
