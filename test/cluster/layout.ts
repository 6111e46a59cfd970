/**
 * Derives all addresses, names and paths of a cluster from its name and slot. Pure functions: every name contains the
 * cluster's name or its slot, so two clusters cannot collide by accident.
 *
 * One link subnet per cluster connects the control plane, the nodes and the machine itself. Pods and Services exist
 * only inside the cluster's network namespaces, so their ranges may be the same in every cluster.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";

export const POD_RANGE = "198.18.0.0/16";
export const SERVICE_RANGE = "198.19.0.0/17";
export const SERVICE_API = "198.19.0.1";
export const SERVICE_DNS = "198.19.0.10";
export const SLOT_MAX = 100;
export const NODES_MAX = 100;
const SOCKET_PATH_BYTES = 108;

/** The directory with one directory per cluster. Its path is short, because socket paths are limited to 108 bytes. */
export const clustersRoot = () => process.env["DECKHAND_CLUSTERS"] ?? join(tmpdir(), "deckhand");

export interface NodeLayout {
  readonly name: string;
  readonly directory: string;
  readonly address: string;
  readonly podRange: string;
  /** Used by dual-stack nodes. */
  readonly ipv6Address: string;
  readonly ipv6PodRange: string;
  /** Path below the root of every cgroup hierarchy, with a leading slash. */
  readonly cgroupParent: string;
  readonly containerdSocket: string;
  readonly logsDir: string;
  readonly kubeconfig: string;
}

export interface ClusterLayout {
  readonly name: string;
  readonly slot: number;
  readonly directory: string;
  readonly certificates: string;
  readonly kubeconfig: string;
  readonly auditLog: string;
  /** The cluster's end of the link; the API server and the registries listen there. */
  readonly address: string;
  /** The machine's end of the link. */
  readonly machineAddress: string;
  readonly machineInterface: string;
  readonly prefixLength: number;
  readonly apiUrl: string;
  readonly registryOpen: string;
  readonly registryGuarded: string;
  readonly cgroupParent: string;
  node(index: number): NodeLayout;
}

export function layoutOf(name: string, slot: number): ClusterLayout {
  if (!/^[a-z][a-z0-9-]{0,19}$/.test(name)) throw new Error(`a cluster's name is 1 to 20 of a-z, 0-9 and -: ${name}`);
  if (slot < 0 || slot >= SLOT_MAX) throw new Error(`no slot ${slot}`);
  const directory = join(clustersRoot(), name);
  const link = `198.19.${128 + slot}`;
  const cgroupParent = `/deckhand-${name}`;
  // containerd creates a second socket beside the configured one.
  const longest = join(directory, `n${NODES_MAX}`, "containerd.sock.ttrpc");
  if (Buffer.byteLength(longest) >= SOCKET_PATH_BYTES) throw new Error(`too long for the path of a socket: ${longest}`);
  return {
    name,
    slot,
    directory,
    certificates: join(directory, "pki"),
    kubeconfig: join(directory, "admin.kubeconfig"),
    auditLog: join(directory, "audit.log"),
    address: `${link}.2`,
    machineAddress: `${link}.1`,
    machineInterface: `deckhand${slot}`,
    prefixLength: 24,
    apiUrl: `https://${link}.2:6443`,
    registryOpen: `${link}.2:5000`,
    registryGuarded: `${link}.2:5001`,
    cgroupParent,
    node(index) {
      if (index < 0 || index >= NODES_MAX) throw new Error(`no node ${index}`);
      const node = `n${index + 1}`;
      const nodeDirectory = join(directory, node);
      return {
        name: node,
        directory: nodeDirectory,
        address: `${link}.${11 + index}`,
        podRange: `198.18.${index + 1}.0/24`,
        ipv6Address: `2001:2:0:18:ffff::${(index + 1).toString(16)}`,
        ipv6PodRange: `2001:2:0:18:${(index + 1).toString(16)}::/80`,
        cgroupParent: `${cgroupParent}/${node}`,
        containerdSocket: join(nodeDirectory, "containerd.sock"),
        logsDir: join(nodeDirectory, "log", "pods"),
        kubeconfig: join(nodeDirectory, "kubelet.kubeconfig"),
      };
    },
  };
}
