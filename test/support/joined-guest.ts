/**
 * A guest as a node of a cluster whose control plane runs on the host, in the state that `kubeadm join` leaves. It has
 * kubelet and kubeadm from packages laid out as upstream's, the drop-in, the configuration, and a client certificate
 * behind its symlink. No kubelet runs yet, and Deckhand's package lies in /root.
 */
import { basename } from "node:path";
import { buildDebFor } from "../../tools/package/packages.ts";
import { type Scratch, scratch } from "../../tools/scratch.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { kubeControllerManager } from "../cluster/control-plane.ts";
import { SERVICE_DNS } from "../cluster/layout.ts";
import { buildParts } from "../cluster/parts.ts";
import { waitUntil } from "../cluster/wait.ts";
import type { Payloads } from "../guest/disks.ts";
import type { Guest } from "../guest/guest.ts";
import { resumeGuest } from "../guest/guests.ts";
import { noteStarted } from "../started-parts.ts";
import { type AuditEntry, auditOf } from "./audit.ts";
import { builtProgram } from "./built-program.ts";
import { ClusterPods } from "./cluster-pods.ts";
import { filesOfCluster, GUEST_ADDRESS, NODE_FILES, reachApi, readPair } from "./guest-node.ts";
import { NODE, NODE_USER } from "./survival-world.ts";
import { kubeadmPackage, kubeletPackage } from "./upstream-packages.ts";

const KUBERNETES = "1.36.4-1.1";
export const MANIFESTS = "/etc/kubernetes/manifests";
const CLIENT_FILE = "kubelet-client-2026-01-01-00-00-00.pem";
/**
 * An emulated node that restarts may be silent for longer than the 50 s after which the controllers mark a node
 * unreachable.
 */
const MONITOR_GRACE = "--node-monitor-grace-period=15m";
/**
 * For either agent: what takes a second elsewhere may take half a minute here, and a start that times out begins again.
 */
const SLOW_START = "[Service]\nTimeoutStartSec=10min\n";
/** Time limit on an emulated machine that runs beside others. */
export const SLOW_MS = 10 * 60_000;

/** As `kubeadm join` writes it, except for the long `runtimeRequestTimeout`. */
const CONFIGURATION = {
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  authentication: {
    anonymous: { enabled: false },
    webhook: { cacheTTL: "0s", enabled: true },
    x509: { clientCAFile: NODE_FILES.authority },
  },
  authorization: { mode: "Webhook", webhook: { cacheAuthorizedTTL: "0s", cacheUnauthorizedTTL: "0s" } },
  cgroupDriver: "systemd",
  clusterDNS: [SERVICE_DNS],
  clusterDomain: "cluster.local",
  containerRuntimeEndpoint: "unix:///var/run/containerd/containerd.sock",
  healthzBindAddress: "127.0.0.1",
  healthzPort: 10248,
  rotateCertificates: true,
  runtimeRequestTimeout: "15m",
  staticPodPath: MANIFESTS,
};

export interface GuestNodeOptions {
  readonly mayReboot?: boolean;
  /** Versions of further Deckhand packages that lie in /root, besides this version's. */
  readonly laterVersions?: readonly string[];
}

export class GuestNode {
  readonly cluster: Cluster;
  readonly guest: Guest;
  readonly pods: ClusterPods;

  private constructor(cluster: Cluster, guest: Guest, pods: ClusterPods) {
    this.cluster = cluster;
    this.guest = guest;
    this.pods = pods;
  }

  static async start({ mayReboot = false, laterVersions = [] }: GuestNodeOptions = {}): Promise<GuestNode> {
    using directory = scratch();
    const packages = await buildPackages(directory, laterVersions);
    const cluster = await startControlPlane();
    let guest: Guest | undefined;
    try {
      guest = await resumeGuest({ hostname: NODE, mayReboot });
      await reachApi(guest, cluster);
      await guest.put({ ...packages, ...(await filesOfKubeadm(cluster)) });
      await guest.must(`
        ln -s ${CLIENT_FILE} /var/lib/kubelet/pki/kubelet-client-current.pem
        mkdir -p ${MANIFESTS}
        dpkg --install /root/kubelet.deb /root/kubeadm.deb
        systemctl daemon-reload
        systemctl enable kubelet.service`);
      return new GuestNode(cluster, guest, await ClusterPods.of(cluster));
    } catch (error) {
      await guest?.close();
      await cluster.down();
      throw error;
    }
  }

  async close(): Promise<void> {
    await using stack = new AsyncDisposableStack();
    stack.defer(() => this.cluster.down());
    stack.defer(() => this.guest.close());
    stack.defer(() => this.pods.close());
  }

  /**
   * Resolves when systemd reports the service started and its health endpoint answers. For a service without readiness
   * notification only the health endpoint shows that it is ready.
   */
  async startKubelet(): Promise<void> {
    await this.guest.must("systemctl start kubelet.service", { limitMs: SLOW_MS });
    await this.healthy();
  }

  async healthy(): Promise<void> {
    await this.guest.must("until curl -fsS http://127.0.0.1:10248/healthz 2>/dev/null; do sleep 1; done", {
      limitMs: SLOW_MS,
    });
    noteStarted(await this.program());
  }

  async apply(...objects: readonly object[]): Promise<void> {
    using directory = scratch();
    directory.write("objects.json", JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    await this.cluster.kubectl("apply", "-f", directory.path("objects.json"));
  }

  /** The program that the kubelet service runs. */
  async program(): Promise<string> {
    const link = '"/proc/$(systemctl show -p MainPID --value kubelet.service)/exe"';
    return basename((await this.guest.must(`readlink ${link}`)).trim());
  }

  /** The node's own requests in the audit log. */
  audit(): Promise<readonly AuditEntry[]> {
    return auditOf(this.cluster, NODE_USER);
  }
}

async function buildPackages(directory: Scratch, laterVersions: readonly string[]): Promise<Payloads> {
  const program = await builtProgram();
  const kubelet = { version: KUBERNETES, program: { file: (await buildParts()).path("kubelet") } };
  const ours = [undefined, ...laterVersions].map((version) =>
    buildDebFor(process.arch, program, directory.root, version),
  );
  return {
    "/root/kubelet.deb": { from: await kubeletPackage(kubelet, directory.root) },
    "/root/kubeadm.deb": { from: await kubeadmPackage(KUBERNETES, directory.root) },
    ...Object.fromEntries(ours.map((from) => [`/root/${basename(from)}`, { from }])),
  };
}

/** Starts the API server, and controllers that allow for the slow node. */
async function startControlPlane(): Promise<Cluster> {
  const cluster = await startCluster({ controlPlane: "api", nodes: [] });
  try {
    const controllers = await kubeControllerManager(cluster.layout, await buildParts());
    await cluster.start({ ...controllers, command: [...controllers.command, MONITOR_GRACE] });
    // Until the controller has created it, no pod of the namespace is admitted.
    await waitUntil("the default service account", 60_000, async () => {
      return (await cluster.kubectl("get", "serviceaccount", "default", "-o", "name")) !== "";
    });
    return cluster;
  } catch (error) {
    await cluster.down();
    throw error;
  }
}

async function filesOfKubeadm(cluster: Cluster): Promise<Payloads> {
  const { certificate, key } = await readPair(await cluster.api.clientCertificate(NODE_USER, ["system:nodes"]));
  const directory = "/var/lib/kubelet/pki";
  const current = `${directory}/kubelet-client-current.pem`;
  return {
    ...(await filesOfCluster(cluster, { certFile: current, keyFile: current })),
    "/etc/systemd/system/kubelet.service.d/20-slow.conf": { content: SLOW_START },
    [NODE_FILES.config]: { content: JSON.stringify(CONFIGURATION) },
    "/var/lib/kubelet/kubeadm-flags.env": { content: `KUBELET_KUBEADM_ARGS="--node-ip=${GUEST_ADDRESS}"\n` },
    [`${directory}/${CLIENT_FILE}`]: { content: `${certificate}${key}`, mode: 0o600 },
  };
}
