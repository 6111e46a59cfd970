/**
 * What `deckhand doctor` may find: every finding with its name, how bad it is, and what to do. The names are a promise to scripts; docs/doctor.md
 * is made from this table.
 */

/** `stops`: the agent does not start, or no pod can run. `hurts`: it runs, and something will fail. `note`: to know, nothing to mend. */
export type Severity = "stops" | "hurts" | "note";

interface FindingKind {
  readonly severity: Severity;
  /** What it means, for the list of all. */
  readonly means: string;
  readonly advice: string;
}

const stops = (means: string, advice: string): FindingKind => ({ severity: "stops", means, advice });
const hurts = (means: string, advice: string): FindingKind => ({ severity: "hurts", means, advice });
const note = (means: string, advice: string): FindingKind => ({ severity: "note", means, advice });

/** `kubeadm certs renew` does not know of a node's own certificate. */
const NEW_IDENTITY =
  "take as its kubeconfig what `kubeadm kubeconfig user --org system:nodes --client-name system:node:<name>` prints on a control plane, or remove it and join anew with a fresh token (`kubeadm token create --print-join-command`)";
const KERNEL = "`sysctl -w` it, and write it to a file below /etc/sysctl.d so that it survives a reboot";
const ROOM = "make room, or move the folder to a larger disk";

export const FINDINGS = {
  // The configuration and who we are.
  "configuration-refused": stops(
    "The agent would not start with these flags and this configuration file.",
    "correct what the message names; `deckhand config check` shows every value with where it came from",
  ),
  "configuration-lenient": hurts(
    "The configuration file has unknown or repeated fields, which are ignored.",
    "correct their spelling or take them out: what they were to do is not done",
  ),
  "configuration-warning": note(
    "Something is set that has no effect, or not the one that one may think.",
    "take it out if it is not needed",
  ),
  "access-refused": stops(
    "Nobody could be answered on the node's own port, so the agent does not start.",
    "set authentication and authorization in the configuration, or give a --kubeconfig",
  ),
  standalone: note(
    "There is no --kubeconfig: the node runs static pods only.",
    "if it should join a cluster, give doctor the same flags as the agent",
  ),
  "not-root": stops("The agent cannot make cgroups and mounts without root.", "run it, and doctor, as root"),
  "node-name-invalid": stops(
    "The API server takes no Node of this name.",
    "give a lower-case DNS name with --hostname-override, or set the host's name",
  ),
  "node-name-not-ours": stops(
    "The client certificate is for another node, and the API server lets it write to that one only.",
    "give the certificate's name with --hostname-override, or issue a certificate for this name",
  ),
  "node-name-taken": hurts(
    "Another machine that is alive reports under this node's name.",
    "give one of the two another name with --hostname-override",
  ),
  "node-address-unusable": hurts(
    "The node cannot say under which address it is reached, so the Node gets none.",
    "give an address of this machine with --node-ip",
  ),

  // The runtime and its network.
  "runtime-unreachable": stops(
    "The container runtime does not answer on its socket.",
    "start it (`systemctl status containerd`), or correct containerRuntimeEndpoint",
  ),
  "runtime-without-cri": stops(
    "Something answers on the runtime's socket that does not speak CRI v1.",
    'take "cri" out of disabled_plugins in /etc/containerd/config.toml and restart containerd; update a runtime that is too old',
  ),
  "runtime-not-ready": stops("The runtime says itself that it is not ready.", "look into the runtime's own log"),
  "runtime-old": note(
    "The runtime cannot be asked for its cgroup driver (RuntimeConfig), so the configuration's is taken; Kubernetes 1.37 does not do that any more.",
    "update it before 1.37, to one that can be asked (containerd 2.0 can)",
  ),
  "image-service-unreachable": stops(
    "The image service, set apart from the runtime, does not answer.",
    "correct or take out imageServiceEndpoint",
  ),
  "cni-configuration-missing": hurts(
    "There is no network configuration: the node stays NotReady and only pods of the host's network start.",
    "install a network add-on (it often brings the configuration itself, a while after the node joined), or write one",
  ),
  "cni-configuration-broken": hurts(
    "The network configuration that the runtime takes cannot be used.",
    "correct the file; the runtime takes the first by name",
  ),
  "cni-plugin-missing": hurts(
    "The network configuration names a plug-in whose program is not there.",
    "install it (package kubernetes-cni or containernetworking-plugins, or the network add-on)",
  ),
  "network-not-ready": hurts(
    "The runtime says that its network is not ready, and nothing is seen to be wrong with its configuration.",
    "look into the runtime's log; containerd may need a restart after a change",
  ),

  // Control groups and swap.
  "cgroup-missing": stops("No control groups are mounted.", "mount them below /sys/fs/cgroup"),
  "cgroup-read-only": stops(
    "The control groups are mounted read-only.",
    "run the agent on the host, or in a privileged container with cgroups of its own",
  ),
  "cgroup-controller-missing": stops(
    "The kernel does not offer a controller without which no pod can be limited.",
    "turn it on by the kernel's command line (cgroup_enable=memory, cpu, cpuset), or take another kernel",
  ),
  "cgroup-pids-missing": hurts(
    "The kernel does not count processes by group: podPidsLimit has no effect.",
    "turn the pids controller on, or take another kernel",
  ),
  "cgroup-v1": note(
    "The machine runs cgroup v1: no memory QoS, no limited swap, no pressure figures.",
    "boot with systemd.unified_cgroup_hierarchy=1; Kubernetes gives v1 up",
  ),
  "cgroup-driver-overridden": hurts(
    "The configuration names another cgroup driver than the runtime uses; the runtime's is taken.",
    "set cgroupDriver to the runtime's, or change the runtime's (SystemdCgroup in containerd) while no pod runs",
  ),
  "cgroup-driver-unagreed": stops(
    "The runtime cannot be asked for its cgroup driver, and its own settings name another than the configuration.",
    "set both alike, and update the runtime to one that can be asked",
  ),
  "cgroup-driver-without-systemd": stops(
    "The cgroup driver is systemd, and systemd does not run this machine.",
    "set cgroupfs in the runtime and in the configuration",
  ),
  "cgroupfs-under-systemd": hurts(
    "systemd runs this machine and the cgroup driver is cgroupfs: two managers of one tree.",
    "set SystemdCgroup = true in containerd and cgroupDriver: systemd in the configuration, while no pod runs",
  ),
  "swap-on": stops(
    "Swap is on, and the configuration says to fail then.",
    "`swapoff -a` and take it out of /etc/fstab, or set failSwapOn: false with a memorySwap.swapBehavior",
  ),

  // The kernel.
  "kernel-old": hurts(
    "The kernel is older than what Kubernetes is tested with.",
    "update to 5.8 or later (4.19 with cgroup v1)",
  ),
  "kernel-setting-wrong": stops(
    "protectKernelDefaults is set and a kernel setting is not what the agent needs.",
    `${KERNEL}, or set protectKernelDefaults: false: then the agent writes it`,
  ),
  "kernel-setting-locked": stops(
    "A kernel setting is not what the agent needs, and it cannot write it.",
    "mount /proc/sys writable for the agent, or set it from outside",
  ),
  "ip-forward-off": hurts(
    "The machine does not pass packets on: pods reach nothing outside.",
    `net.ipv4.ip_forward=1: ${KERNEL}`,
  ),
  "ipv6-forward-off": hurts(
    "The node has an IPv6 address and does not pass IPv6 packets on.",
    `net.ipv6.conf.all.forwarding=1: ${KERNEL}`,
  ),
  "bridge-netfilter-off": hurts(
    "Packets between pods on one bridge pass by iptables, so Services and policies do not hold for them.",
    "`modprobe br_netfilter` (and name it in /etc/modules-load.d), net.bridge.bridge-nf-call-iptables=1",
  ),
  "overlay-missing": hurts(
    "The kernel has no overlay file system loaded, which the runtime puts images together with.",
    "`modprobe overlay`, and name it in /etc/modules-load.d",
  ),
  "inotify-low": hurts(
    "So few inotify watches are allowed that agent, runtime and pods run out of them.",
    `fs.inotify.max_user_instances=1024, fs.inotify.max_user_watches=524288: ${KERNEL}`,
  ),
  "pid-max-low": hurts(
    "The machine has few process numbers for a node full of pods.",
    `kernel.pid_max=4194304: ${KERNEL}`,
  ),
  "kmsg-unreadable": stops(
    "The kernel's messages cannot be read, from which the agent learns of processes killed for want of memory.",
    "give it /dev/kmsg, or set the feature gate KubeletInUserNamespace",
  ),

  // Ports and other agents.
  "port-taken": stops(
    "Another program listens where the agent wants to.",
    "end that program, or give the agent another port",
  ),
  "agent-running": note(
    "One Deckhand runs on this host; what it holds is not counted against it.",
    "nothing; end it before another is started",
  ),
  "second-agent": stops("More than one Deckhand runs on this host.", "end all but one: they undo each other's work"),
  "another-kubelet": stops(
    "Another kubelet runs on this host.",
    "install Deckhand's package over it: the service goes on with Deckhand in its place; without the package, end that kubelet first (`systemctl stop kubelet`); the pods go on either way",
  ),

  // Certificates and the clock.
  "kubeconfig-refused": stops(
    "The kubeconfig cannot be used.",
    "correct what the message names, or join the node anew",
  ),
  "bootstrap-kubeconfig-refused": stops(
    "There are no credentials yet, and the bootstrap kubeconfig cannot be used to get some.",
    "correct what the message names; `kubeadm token create` makes a new token",
  ),
  "bootstrap-needed": note(
    "There is no valid client certificate; the agent will ask for one with the bootstrap kubeconfig.",
    "nothing, if the token in it is still valid",
  ),
  "client-certificate-expired": stops("The node's client certificate is over.", NEW_IDENTITY),
  "client-certificate-not-yet": stops("The node's client certificate is not valid yet.", "set the clock, or wait"),
  "client-certificate-soon": hurts(
    "The node's client certificate ends soon, and was not renewed.",
    `look why rotation does not get through (\`kubectl get csr\`), or ${NEW_IDENTITY}`,
  ),
  "client-key-not-ours": stops(
    "The client key does not belong to the client certificate.",
    "put the right pair together, or join the node anew",
  ),
  "serving-certificate-refused": stops(
    "The serving certificate cannot be read as a pair with its key.",
    "correct tlsCertFile and tlsPrivateKeyFile",
  ),
  "serving-certificate-expired": hurts(
    "The certificate that the node serves is over: logs and exec fail.",
    "renew the files, or let the cluster sign one (serverTLSBootstrap)",
  ),
  "serving-certificate-not-yet": hurts(
    "The certificate that the node serves is not valid yet.",
    "set the clock, or wait",
  ),
  "serving-certificate-soon": hurts(
    "The certificate that the node serves ends soon.",
    "renew the files, or approve the waiting request (`kubectl get csr`)",
  ),
  "client-ca-refused": stops(
    "The file of authorities that callers are checked by cannot be used.",
    "correct authentication.x509.clientCAFile",
  ),
  "client-ca-expired": hurts("Every authority that callers are checked by is over.", "renew the cluster's CA"),
  "clock-unset": stops(
    "The clock stands in the past: no certificate is valid.",
    "set it, and run a time service (chrony, systemd-timesyncd)",
  ),
  "clock-skewed": hurts(
    "The clock differs from the API server's.",
    "run a time service on both (chrony, systemd-timesyncd)",
  ),

  // The API server.
  "api-unreachable": stops(
    "The API server does not answer.",
    "look at the network, the address in the kubeconfig and the server itself",
  ),
  "api-unauthorized": stops(
    "The API server does not know these credentials.",
    `the kubeconfig may be of another cluster; ${NEW_IDENTITY}`,
  ),
  "api-forbidden": stops(
    "The API server does not let this node read its own Node.",
    "authorization needs the Node authorizer and a user system:node:<name> in system:nodes",
  ),
  "api-version-skew": hurts(
    "The API server's release is none that a kubelet 1.36 may be used with.",
    "a kubelet may be up to three minor releases older than the API server, and never newer",
  ),

  // Disks.
  "disk-full": stops("A disk that the node writes to has no room left.", ROOM),
  "disk-pressure": hurts(
    "A disk has less room than the eviction threshold: pods are evicted and none is admitted.",
    ROOM,
  ),
  "inodes-gone": stops("A file system that the node writes to has no room for another file.", ROOM),
  "inodes-pressure": hurts("A file system has fewer free inodes than the eviction threshold.", ROOM),
  "folder-unwritable": stops(
    "A folder of the agent's cannot be written to.",
    "mount it writable, or give another (--root-dir, --cert-dir, podLogsDir)",
  ),

  // Files and programs.
  "resolv-conf-refused": stops(
    "The resolver's file that pods get cannot be read.",
    "correct resolvConf in the configuration",
  ),
  "resolv-conf-empty": hurts(
    "The resolver's file that pods get names no server.",
    "correct it, or name another as resolvConf",
  ),
  "resolv-conf-loop": hurts(
    "The resolver's file names a server on the machine itself, which a pod does not reach, and which sends CoreDNS round in a circle.",
    "with systemd-resolved set resolvConf: /run/systemd/resolve/resolv.conf",
  ),
  "resolv-conf-long": note(
    "The resolver's file has more than pods can be given; the rest is left out.",
    "keep to three servers and 32 search domains",
  ),
  "program-missing": stops(
    "A program that the agent calls is not there.",
    "install it (packages mount and util-linux)",
  ),
  "iptables-missing": hurts(
    "There is no iptables: the chains that others look for are not made.",
    "install it, or set makeIPTablesUtilChains: false",
  ),

  "could-not-look": hurts(
    "Doctor could not look at something, so it cannot say that it is well.",
    "mend what the message names and run doctor again",
  ),
} as const satisfies Readonly<Record<string, FindingKind>>;

export type FindingName = keyof typeof FINDINGS;

export const FINDING_NAMES = Object.keys(FINDINGS) as readonly FindingName[];

export interface Finding {
  readonly name: FindingName;
  readonly severity: Severity;
  /** One sentence: what was seen on this host. */
  readonly seen: string;
  readonly advice: string;
}

export const finding = (name: FindingName, seen: string): Finding => ({
  name,
  severity: FINDINGS[name].severity,
  seen,
  advice: FINDINGS[name].advice,
});

/** One after the other, as a judge comes upon them. */
export type Findings = Generator<Finding, void, void>;

/** What was looked at, or why it could not be. */
export type Looked<T> =
  | { readonly kind: "seen"; readonly value: T }
  | { readonly kind: "unseen"; readonly why: string };

/** Tells of each that could not be looked at; a judge then goes on with what was seen. */
export function* unseen(looks: Readonly<Record<string, Looked<unknown>>>): Findings {
  for (const [what, look] of Object.entries(looks)) {
    if (look.kind === "unseen") yield finding("could-not-look", `${what}: ${look.why}`);
  }
}

export const seenOf = <T>(look: Looked<T>): T | undefined => (look.kind === "seen" ? look.value : undefined);
