/**
 * Machines as people bring them to kubeadm: guests with the packages of the Go kubelet and of kubeadm laid out as upstream's, ours over them or not, a runtime that has
 * every image, and a network in which they meet. What kubeadm is told of timeouts is the same for both agents: the machines are emulated.
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

/** A control plane, and a node beside it. */
const MACHINES = { one: 1, two: 2 } as const;
export type MachineName = keyof typeof MACHINES;

const addressOf = (name: MachineName) => `10.77.0.${MACHINES[name]}`;
const podRangeOf = (name: MachineName) => `198.18.${MACHINES[name]}.0/24`;
/** Nobody has it. Agents and kubeadm take the address of a machine from where its default route begins. */
const GATEWAY = "10.77.0.254";
/** Nor this one. CoreDNS asks it for names that are not the cluster's. */
const NAMESERVER = "10.77.0.253";

/** systemd waits for ours until it is ready, and for upstream's not at all. */
const SLOW_START = "[Service]\nTimeoutStartSec=15min\n";

/** What is said of a cluster here that is not kubeadm's default. Nothing of it is about the agent. */
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
    // RSA keys take long on an emulated processor.
    encryptionAlgorithm: "ECDSA-P256",
    networking: { serviceSubnet: "198.19.0.0/16", podSubnet: "198.18.0.0/16" },
    etcd: { local: { extraArgs: [{ name: "unsafe-no-fsync", value: "true" }] } },
    controllerManager: {
      extraArgs: [
        { name: "leader-elect", value: "false" },
        // The ranges of the machines' pods are in their CNI configuration.
        { name: "allocate-node-cidrs", value: "false" },
      ],
    },
    scheduler: { extraArgs: [{ name: "leader-elect", value: "false" }] },
  },
];

type Packages = Readonly<Record<"kubelet" | "kubeadm" | "deckhand", Payload>>;

export class KubeadmMachines implements AsyncDisposable {
  readonly #folder: Scratch;
  readonly #network: EthernetSwitch;
  readonly #images: KubeadmImages;
  readonly #packages: Packages;
  readonly #guests: Guest[] = [];

  private constructor(folder: Scratch, network: EthernetSwitch, images: KubeadmImages, packages: Packages) {
    this.#folder = folder;
    this.#network = network;
    this.#images = images;
    this.#packages = packages;
  }

  /** Builds everything that goes into them. */
  static async prepare(): Promise<KubeadmMachines> {
    const parts = await buildParts();
    const images = await kubeadmImages(parts);
    const kubelet = { version: VERSION, program: { file: parts.path("kubelet") } };
    using stack = new DisposableStack();
    const folder = stack.use(scratch());
    const kubeadm = { file: parts.path("kubeadm") };
    const packages = {
      kubelet: { from: await kubeletPackage(kubelet, folder.root) },
      kubeadm: { from: await kubeadmPackage(VERSION, folder.root, kubeadm) },
      deckhand: { from: buildDebFor(process.arch, await builtProgram(), folder.root) },
    };
    const network = await EthernetSwitch.open(folder.path("switch.sock"));
    // It is the machines' from here on.
    stack.move();
    return new KubeadmMachines(folder, network, images, packages);
  }

  /** A fresh one, in whose root's folder `kubeadm.yaml` says what the cluster is like. */
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
    stack.use(this.#folder);
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
    // The one of the image would be found first.
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
