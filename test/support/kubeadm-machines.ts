/**
 * Machines as users prepare them for kubeadm: guests with the packages of the Go kubelet and of kubeadm laid out as
 * upstream's, optionally ours over them, a runtime with all images, and a shared network. kubeadm's timeouts are the
 * same for both agents: the machines are emulated.
 */
import { basename } from "node:path";
import { KUBERNETES_VERSION } from "../../src/app/version.ts";
import { buildDebFor } from "../../tools/package/packages.ts";
import { type Scratch, scratch } from "../../tools/scratch.ts";
import { buildParts } from "../cluster/parts.ts";
import type { Payload, Payloads } from "../guest/disks.ts";
import type { Guest } from "../guest/guest.ts";
import { resumeGuest } from "../guest/guests.ts";
import { EthernetSwitch } from "../guest/pieces/ethernet-switch.ts";
import { noteStarted } from "../started-parts.ts";
import { builtProgram } from "./built-program.ts";
import type { Agent } from "./guest-agents.ts";
import { type KubeadmImages, kubeadmImages } from "./kubeadm-images.ts";
import { kubeadmPackage, kubeletPackage } from "./upstream-packages.ts";

const VERSION = `${KUBERNETES_VERSION.slice(1)}-1.1`;
const IMPORT_MS = 15 * 60_000;
const INSTALL_MS = 5 * 60_000;

/** A control plane node, and another node. */
const MACHINES = { one: 1, two: 2 } as const;
export type MachineName = keyof typeof MACHINES;

const addressOf = (name: MachineName) => `10.77.0.${MACHINES[name]}`;
const podRangeOf = (name: MachineName) => `198.18.${MACHINES[name]}.0/24`;
/** No machine has this address. Agents and kubeadm take a machine's address from its default route. */
const GATEWAY = "10.77.0.254";
/** No machine has this address either. CoreDNS forwards queries for names outside the cluster to it. */
const NAMESERVER = "10.77.0.253";

/** systemd waits until Deckhand is ready, but not for upstream's kubelet. */
const SLOW_START = "[Service]\nTimeoutStartSec=15min\n";

/** The settings that deviate from kubeadm's defaults. None of them concerns the agent. */
const CLUSTER = [
  {
    apiVersion: "kubeadm.k8s.io/v1beta4",
    kind: "InitConfiguration",
    timeouts: {
      controlPlaneComponentHealthCheck: "20m0s",
      kubeletHealthCheck: "15m0s",
      kubernetesAPICall: "5m0s",
      etcdAPICall: "10m0s",
      tlsBootstrap: "15m0s",
    },
  },
  {
    apiVersion: "kubeadm.k8s.io/v1beta4",
    kind: "ClusterConfiguration",
    kubernetesVersion: KUBERNETES_VERSION,
    // RSA keys take long to generate on an emulated processor.
    encryptionAlgorithm: "ECDSA-P256",
    networking: { serviceSubnet: "198.19.0.0/16", podSubnet: "198.18.0.0/16" },
    etcd: { local: { extraArgs: [{ name: "unsafe-no-fsync", value: "true" }] } },
    controllerManager: {
      extraArgs: [
        { name: "leader-elect", value: "false" },
        // Each machine's pod range is in its CNI configuration.
        { name: "allocate-node-cidrs", value: "false" },
      ],
    },
    scheduler: { extraArgs: [{ name: "leader-elect", value: "false" }] },
  },
];

type Packages = Readonly<Record<"kubelet" | "kubeadm" | "deckhand", Payload>>;

export class KubeadmMachines implements AsyncDisposable {
  readonly #directory: Scratch;
  readonly #network: EthernetSwitch;
  readonly #images: KubeadmImages;
  readonly #packages: Packages;
  readonly #guests: Guest[] = [];

  private constructor(directory: Scratch, network: EthernetSwitch, images: KubeadmImages, packages: Packages) {
    this.#directory = directory;
    this.#network = network;
    this.#images = images;
    this.#packages = packages;
  }

  /** Builds everything that goes into the machines. */
  static async prepare(): Promise<KubeadmMachines> {
    const parts = await buildParts();
    const images = await kubeadmImages(parts);
    const kubelet = { version: VERSION, program: { file: parts.path("kubelet") } };
    using stack = new DisposableStack();
    const directory = stack.use(scratch());
    const kubeadm = { file: parts.path("kubeadm") };
    const packages = {
      kubelet: { from: await kubeletPackage(kubelet, directory.root) },
      kubeadm: { from: await kubeadmPackage(VERSION, directory.root, kubeadm) },
      deckhand: { from: buildDebFor(process.arch, await builtProgram(), directory.root) },
    };
    const network = await EthernetSwitch.open(directory.path("switch.sock"));
    // From here on the machines own it.
    stack.move();
    return new KubeadmMachines(directory, network, images, packages);
  }

  /** Starts a fresh machine. `/root/kubeadm.yaml` holds the cluster's configuration. */
  async start(name: MachineName, agent: Agent): Promise<Guest> {
    const guest = await resumeGuest({ hostname: name });
    this.#guests.push(guest);
    await guest.join(this.#network, `${addressOf(name)}/24`);
    const routes = (Object.keys(MACHINES) as MachineName[])
      .filter((other) => other !== name)
      .map((other) => `ip route add ${podRangeOf(other)} via ${addressOf(other)}`);
    await guest.must(`
      ip route add default via ${GATEWAY}
      ${routes.join("\n")}
      echo nameserver ${NAMESERVER} > /etc/resolv.conf
      sed -i 's|198.18.1.0/24|${podRangeOf(name)}|' /etc/cni/net.d/*.conflist`);
    await this.#install(guest, agent);
    await this.#import(
      guest,
      name === "one" ? [...this.#images.controlPlane, ...this.#images.everyNode] : this.#images.everyNode,
    );
    return guest;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using stack = new AsyncDisposableStack();
    stack.use(this.#directory);
    stack.defer(() => this.#network.close());
    for (const guest of this.#guests) stack.use(guest);
  }

  async #install(guest: Guest, agent: Agent): Promise<void> {
    const { kubelet, kubeadm, deckhand } = this.#packages;
    const ours: Payloads = agent === "deckhand" ? { "/root/deckhand.deb": deckhand } : {};
    const configuration = CLUSTER.map((document) => JSON.stringify(document)).join("\n---\n");
    await guest.put({
      "/root/kubelet.deb": kubelet,
      "/root/kubeadm.deb": kubeadm,
      "/root/kubeadm.yaml": { content: configuration },
      "/etc/systemd/system/kubelet.service.d/20-slow.conf": { content: SLOW_START },
      ...ours,
    });
    // The PATH would find the image's kubeadm first.
    await guest.must("rm /usr/local/bin/kubeadm; dpkg --install /root/kubelet.deb /root/kubeadm.deb", {
      limitMs: INSTALL_MS,
    });
    if (agent === "deckhand") {
      await guest.must("dpkg --install /root/deckhand.deb", { limitMs: INSTALL_MS });
      noteStarted("deckhand");
    }
    await guest.must("rm /root/*.deb; systemctl daemon-reload; systemctl enable kubelet.service");
  }

  async #import(guest: Guest, archives: readonly string[]): Promise<void> {
    for (const from of archives) {
      const file = `/var/tmp/${basename(from)}`;
      await guest.put({ [file]: { from } });
      await guest.must(`ctr -n k8s.io images import --local ${file}; rm ${file}`, { limitMs: IMPORT_MS });
    }
  }
}
