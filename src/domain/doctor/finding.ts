/**
 * The findings of `deckhand doctor`: the name of each, its severity, and what to do. Scripts rely on the names.
 * docs/doctor.md is generated from this table.
 */

/**
 * `error`: the agent does not start, or no pod can run. `warning`: the agent runs, but something will fail. `note`:
 * information only, nothing to fix.
 */
export type Severity = "error" | "warning" | "note";

interface FindingKind {
  readonly severity: Severity;
  /** What the finding means, for the list of all findings. */
  readonly means: string;
  readonly advice: string;
}

const error = (means: string, advice: string): FindingKind => ({ severity: "error", means, advice });
const warning = (means: string, advice: string): FindingKind => ({ severity: "warning", means, advice });
const note = (means: string, advice: string): FindingKind => ({ severity: "note", means, advice });

/** `kubeadm certs renew` does not renew a node's own certificate. */
const NEW_IDENTITY =
  "run `kubeadm kubeconfig user --org system:nodes --client-name system:node:<name>` on a control-plane node and install its output as the kubeconfig, or remove the kubeconfig and join again with a new token (`kubeadm token create --print-join-command`)";
const KERNEL = "set it with `sysctl -w`, and in a file below /etc/sysctl.d so that it survives a reboot";
const FREE_SPACE = "free space, or move the directory to a larger disk";

export const FINDINGS = {
  // Configuration and identity.
  "configuration-refused": error(
    "The agent would not start with these flags and this configuration file.",
    "correct what the message names; `deckhand config check` prints every value and its origin",
  ),
  "configuration-lenient": warning(
    "The configuration file has unknown or repeated fields, which are ignored.",
    "correct their spelling or remove them: they have no effect",
  ),
  "configuration-warning": note(
    "A setting has no effect, or another effect than its name suggests.",
    "remove it if it is not needed",
  ),
  "feature-not-implemented": note(
    "The configuration enables a feature that this version does not have.",
    "decide whether the node can do without it; docs/compatibility.md lists what is missing",
  ),
  "access-refused": error(
    "The agent could authorize no request on the node's port, so it does not start.",
    "set authentication and authorization in the configuration, or give a --kubeconfig",
  ),
  standalone: note(
    "There is no --kubeconfig: the node runs static pods only.",
    "if it should join a cluster, give doctor the same flags as the agent",
  ),
  "not-root": error("The agent cannot create cgroups and mounts without root.", "run it, and doctor, as root"),
  "node-name-invalid": error(
    "The API server accepts no Node of this name.",
    "give a lower-case DNS name with --hostname-override, or set the host's name",
  ),
  "node-name-not-ours": error(
    "The client certificate names another node, and authorizes writes to that Node only.",
    "give the certificate's name with --hostname-override, or issue a certificate for this name",
  ),
  "node-name-taken": warning(
    "Another running machine reports under this node's name.",
    "give one of the two machines another name with --hostname-override",
  ),
  "node-address-unusable": warning(
    "The agent finds no address of this machine, so the Node gets no address.",
    "give an address of this machine with --node-ip",
  ),

  // The runtime and its network.
  "runtime-unreachable": error(
    "The container runtime does not answer on its socket.",
    "start it (`systemctl status containerd`), or correct containerRuntimeEndpoint",
  ),
  "runtime-without-cri": error(
    "The process on the runtime's socket does not serve CRI v1.",
    'remove "cri" from disabled_plugins in /etc/containerd/config.toml and restart containerd; update a runtime that is too old',
  ),
  "runtime-not-ready": error("The runtime reports that it is not ready.", "read the runtime's log"),
  "runtime-old": note(
    "The runtime does not report its cgroup driver (RuntimeConfig), so the agent uses the configured one; Kubernetes 1.37 removes this fallback.",
    "update it before 1.37 to a runtime that reports the driver (containerd 2.0 does)",
  ),
  "image-service-unreachable": error(
    "The separately configured image service does not answer.",
    "correct or remove imageServiceEndpoint",
  ),
  "cni-configuration-missing": warning(
    "There is no network configuration: the node stays NotReady and only host-network pods start.",
    "install a network add-on (it often writes the configuration itself, some time after the node joined), or write a configuration",
  ),
  "cni-configuration-broken": warning(
    "The network configuration that the runtime uses is invalid.",
    "correct the file; the runtime uses the first file by name",
  ),
  "cni-plugin-missing": warning(
    "The network configuration names a plugin that is not installed.",
    "install it (package kubernetes-cni or containernetworking-plugins, or the network add-on)",
  ),
  "network-not-ready": warning(
    "The runtime reports that its network is not ready, and its network configuration looks valid.",
    "read the runtime's log; containerd may need a restart after a change",
  ),

  // Cgroups and swap.
  "cgroup-missing": error("No cgroup file system is mounted.", "mount it at /sys/fs/cgroup"),
  "cgroup-read-only": error(
    "The cgroup file system is mounted read-only.",
    "run the agent on the host, or in a privileged container with its own cgroups",
  ),
  "cgroup-controller-missing": error(
    "The kernel lacks a cgroup controller that pod limits need.",
    "enable it on the kernel's command line (cgroup_enable=memory, cpu, cpuset), or use another kernel",
  ),
  "cgroup-pids-missing": warning(
    "The kernel lacks the pids controller: podPidsLimit has no effect.",
    "enable the pids controller, or use another kernel",
  ),
  "cgroup-v1": note(
    "The machine runs cgroup v1: no memory QoS, no limited swap, no pressure stall information.",
    "boot with systemd.unified_cgroup_hierarchy=1; Kubernetes deprecates cgroup v1",
  ),
  "cgroup-driver-overridden": warning(
    "The configured cgroup driver differs from the runtime's; the agent uses the runtime's.",
    "set cgroupDriver to the runtime's, or change the runtime's (SystemdCgroup in containerd) while no pod runs",
  ),
  "cgroup-driver-unagreed": error(
    "The runtime does not report its cgroup driver, and its settings name another driver than the configuration.",
    "set both to the same driver, and update the runtime to one that reports its driver",
  ),
  "cgroup-driver-without-systemd": error(
    "The cgroup driver is systemd, but systemd does not run on this machine.",
    "set the driver to cgroupfs in the runtime and in the configuration",
  ),
  "cgroupfs-under-systemd": warning(
    "systemd runs on this machine and the cgroup driver is cgroupfs: two processes manage one cgroup tree.",
    "set SystemdCgroup = true in containerd and cgroupDriver: systemd in the configuration, while no pod runs",
  ),
  "swap-on": error(
    "Swap is on, and failSwapOn is true.",
    "run `swapoff -a` and remove swap from /etc/fstab, or set failSwapOn: false with a memorySwap.swapBehavior",
  ),

  // The kernel.
  "kernel-old": warning(
    "The kernel is older than the kernels that Kubernetes is tested with.",
    "update to 5.8 or later (4.19 with cgroup v1)",
  ),
  "kernel-setting-wrong": error(
    "protectKernelDefaults is set and a kernel setting is not what the agent needs.",
    `${KERNEL}, or set protectKernelDefaults: false: then the agent writes it`,
  ),
  "kernel-setting-locked": error(
    "A kernel setting is not what the agent needs, and the agent cannot write it.",
    "mount /proc/sys writable for the agent, or set it outside the container",
  ),
  "ip-forward-off": warning(
    "IP forwarding is disabled: pods reach no other machine.",
    `net.ipv4.ip_forward=1: ${KERNEL}`,
  ),
  "ipv6-forward-off": warning(
    "The node has an IPv6 address, and IPv6 forwarding is disabled.",
    `net.ipv6.conf.all.forwarding=1: ${KERNEL}`,
  ),
  "bridge-netfilter-off": warning(
    "Packets between pods on one bridge bypass iptables, so Services and network policies do not apply to them.",
    "`modprobe br_netfilter` (and list it in /etc/modules-load.d), net.bridge.bridge-nf-call-iptables=1",
  ),
  "overlay-missing": warning(
    "The kernel module overlay, which the runtime needs for images, is not loaded.",
    "`modprobe overlay`, and list it in /etc/modules-load.d",
  ),
  "inotify-low": warning(
    "The inotify limits are too low for an agent, a runtime and their pods.",
    `fs.inotify.max_user_instances=1024, fs.inotify.max_user_watches=524288: ${KERNEL}`,
  ),
  "pid-max-low": warning("The limit of process IDs is low for a full node.", `kernel.pid_max=4194304: ${KERNEL}`),
  "kmsg-unreadable": error(
    "The agent cannot read /dev/kmsg, from which it learns of OOM kills.",
    "give the agent access to /dev/kmsg, or enable the feature gate KubeletInUserNamespace",
  ),

  // Ports and other agents.
  "port-taken": error("Another program listens on the agent's port.", "stop that program, or configure another port"),
  "agent-running": note(
    "Deckhand runs on this host; doctor does not report its ports and files as conflicts.",
    "nothing; stop it before you start another one",
  ),
  "second-agent": error("More than one Deckhand runs on this host.", "stop all but one: they undo each other's work"),
  "another-kubelet": error(
    "Another kubelet runs on this host.",
    "install Deckhand's package over it: the service continues with Deckhand; without the package, stop that kubelet first (`systemctl stop kubelet`); pods keep running either way",
  ),

  // Certificates and the clock.
  "kubeconfig-refused": error("The kubeconfig is invalid.", "correct what the message names, or join the node again"),
  "bootstrap-kubeconfig-refused": error(
    "There are no credentials yet, and the bootstrap kubeconfig is invalid.",
    "correct what the message names; `kubeadm token create` creates a new token",
  ),
  "bootstrap-needed": note(
    "There is no valid client certificate; the agent will request one with the bootstrap kubeconfig.",
    "nothing, if its token is still valid",
  ),
  "client-certificate-expired": error("The node's client certificate has expired.", NEW_IDENTITY),
  "client-certificate-not-yet": error("The node's client certificate is not valid yet.", "correct the clock, or wait"),
  "client-certificate-soon": warning(
    "The node's client certificate expires soon, and was not renewed.",
    `find out why rotation fails (\`kubectl get csr\`), or ${NEW_IDENTITY}`,
  ),
  "client-key-not-ours": error(
    "The client key does not match the client certificate.",
    "install a matching pair, or join the node again",
  ),
  "serving-certificate-refused": error(
    "The serving certificate and its key are unreadable or do not match.",
    "correct tlsCertFile and tlsPrivateKeyFile",
  ),
  "serving-certificate-expired": warning(
    "The serving certificate has expired: kubectl logs and exec fail.",
    "renew the files, or request a certificate from the cluster (serverTLSBootstrap)",
  ),
  "serving-certificate-not-yet": warning("The serving certificate is not valid yet.", "correct the clock, or wait"),
  "serving-certificate-soon": warning(
    "The serving certificate expires soon.",
    "renew the files, or approve the pending request (`kubectl get csr`)",
  ),
  "client-ca-refused": error(
    "The client CA file is unreadable or invalid.",
    "correct authentication.x509.clientCAFile",
  ),
  "client-ca-expired": warning("Every certificate in the client CA file has expired.", "renew the cluster's CA"),
  "clock-unset": error(
    "The clock is in the past: no certificate is valid.",
    "correct the clock, and run a time service (chrony, systemd-timesyncd)",
  ),
  "clock-skewed": warning(
    "The clock differs from the API server's.",
    "run a time service on both (chrony, systemd-timesyncd)",
  ),

  // The API server.
  "api-unreachable": error(
    "The API server does not answer.",
    "check the network, the address in the kubeconfig and the API server",
  ),
  "api-unauthorized": error(
    "The API server rejects these credentials as unauthenticated.",
    `the kubeconfig may belong to another cluster; ${NEW_IDENTITY}`,
  ),
  "api-forbidden": error(
    "The API server does not authorize this node to read its own Node object.",
    "authorization needs the Node authorizer and a user system:node:<name> in system:nodes",
  ),
  "api-version-skew": warning(
    "The API server's version is outside the skew that a kubelet 1.36 supports.",
    "a kubelet may be up to three minor releases older than the API server, and never newer",
  ),

  // Disks.
  "disk-full": error("A disk that the node writes to is full.", FREE_SPACE),
  "disk-pressure": warning(
    "Free space is below the eviction threshold: the node reports DiskPressure, rejects new pods and evicts pods.",
    FREE_SPACE,
  ),
  "inodes-gone": error("A file system that the node writes to has no free inode.", FREE_SPACE),
  "inodes-pressure": warning("A file system has fewer free inodes than the eviction threshold.", FREE_SPACE),
  "folder-unwritable": error(
    "One of the agent's directories is not writable.",
    "mount it writable, or configure another one (--root-dir, --cert-dir, podLogsDir)",
  ),

  // Files and programs.
  "resolv-conf-refused": error("The resolv.conf for pods is unreadable.", "correct resolvConf in the configuration"),
  "resolv-conf-empty": warning(
    "The resolv.conf for pods names no server.",
    "correct it, or set resolvConf to another file",
  ),
  "resolv-conf-loop": warning(
    "The resolv.conf for pods names a server on the loopback interface, which pods cannot reach and which makes CoreDNS loop.",
    "with systemd-resolved set resolvConf: /run/systemd/resolve/resolv.conf",
  ),
  "resolv-conf-long": note(
    "The resolv.conf for pods exceeds the limits of a pod; the rest is omitted.",
    "keep to three servers and 32 search domains",
  ),
  "program-missing": error(
    "A program that the agent calls is not installed.",
    "install it (packages mount and util-linux)",
  ),
  "iptables-missing": warning(
    "iptables is not installed: the agent does not create the chains that other programs look for.",
    "install it, or set makeIPTablesUtilChains: false",
  ),

  "could-not-look": warning(
    "Doctor could not check something, so it does not count as fine.",
    "correct what the message names and run doctor again",
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

/** The findings of a judge function, in the order in which it finds them. */
export type Findings = Generator<Finding, void, void>;

/** An observed value, or why it could not be observed. */
export type Probed<T> =
  | { readonly kind: "seen"; readonly value: T }
  | { readonly kind: "unseen"; readonly why: string };

/** Reports every value that could not be observed; the judge function continues with the others. */
export function* unseen(probes: Readonly<Record<string, Probed<unknown>>>): Findings {
  for (const [what, probed] of Object.entries(probes)) {
    if (probed.kind === "unseen") yield finding("could-not-look", `${what}: ${probed.why}`);
  }
}

export const seenOf = <T>(probed: Probed<T>): T | undefined => (probed.kind === "seen" ? probed.value : undefined);
