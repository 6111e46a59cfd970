/**
 * Where everything of a cluster is: addresses, names and paths, all derived from its name and slot. Pure, so that two clusters
 * cannot collide by accident: every name holds the cluster's name or its slot.
 *
 * One link subnet per cluster joins the control plane, the nodes and the machine itself; pods and services live inside the
 * cluster's network namespaces only, so their ranges may be the same in every cluster.
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

/** The folder that holds one folder per cluster. Short, because socket paths end at 108 bytes. */
export const clustersRoot = () => process.env["DECKHAND_CLUSTERS"] ?? join(tmpdir(), "deckhand");

export interface NodeLayout {
  readonly name: string;
  readonly folder: string;
  readonly address: string;
  readonly podRange: string;
  /** Of a dual-stack node. */
  readonly ipv6Address: string;
  readonly ipv6PodRange: string;
  /** Below the root of every cgroup hierarchy, with a leading slash. */
  readonly cgroupParent: string;
  readonly containerdSocket: string;
  readonly logsDir: string;
  readonly kubeconfig: string;
}

export interface ClusterLayout {
  readonly name: string;
  readonly slot: number;
  readonly folder: string;
  readonly certificates: string;
  readonly kubeconfig: string;
  readonly auditLog: string;
  /** The cluster's end of the link, where the API server and the registries answer. */
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
  const folder = join(clustersRoot(), name);
  const link = `198.19.${128 + slot}`;
  const cgroupParent = `/deckhand-${name}`;
  // containerd adds a socket of its own beside the one it is told.
  const longest = join(folder, `n${NODES_MAX}`, "containerd.sock.ttrpc");
  if (Buffer.byteLength(longest) >= SOCKET_PATH_BYTES) throw new Error(`too long for the path of a socket: ${longest}`);
  return {
    name,
    slot,
    folder,
    certificates: join(folder, "pki"),
    kubeconfig: join(folder, "admin.kubeconfig"),
    auditLog: join(folder, "audit.log"),
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
      const nodeFolder = join(folder, node);
      return {
        name: node,
        folder: nodeFolder,
        address: `${link}.${11 + index}`,
        podRange: `198.18.${index + 1}.0/24`,
        ipv6Address: `2001:2:0:18:ffff::${(index + 1).toString(16)}`,
        ipv6PodRange: `2001:2:0:18:${(index + 1).toString(16)}::/80`,
        cgroupParent: `${cgroupParent}/${node}`,
        containerdSocket: join(nodeFolder, "containerd.sock"),
        logsDir: join(nodeFolder, "log", "pods"),
        kubeconfig: join(nodeFolder, "kubelet.kubeconfig"),
      };
    },
  };
}
