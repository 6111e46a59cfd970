/**
 * Flags without a field in the configuration file: the process's own flags, and those that cAdvisor once registered.
 */
import { accepted, type Support, supported, unimplemented } from "./field.ts";

type AgentFlagType = "string" | "bool" | "int32" | "int" | "duration" | "labels" | "strings";

export interface AgentFlag {
  readonly type: AgentFlagType;
  /** The default as text, as `--help` prints it. */
  readonly initial: string;
  readonly deprecated: string | undefined;
  readonly support: Support;
}

const flag = (type: AgentFlagType, initial: string, support: Support, deprecated?: string): AgentFlag => ({
  type,
  initial,
  deprecated,
  support,
});

const CADVISOR =
  "This is a cadvisor flag that was mistakenly registered with the Kubelet. Due to legacy concerns, it will follow the standard CLI deprecation timeline before being removed.";
const EVICTION = "Use --eviction-hard or --eviction-soft instead. Will be removed in a future version.";
const REMOVED = "will be removed in 1.25 or later.";

const cadvisor = (type: AgentFlagType, initial: string) =>
  flag(type, initial, accepted("Deckhand has no cAdvisor"), CADVISOR);
const plugins = unimplemented("credential provider plugins");

export const AGENT_FLAGS = {
  "bootstrap-kubeconfig": flag("string", "", supported),
  "cert-dir": flag("string", "/var/lib/kubelet/pki", supported),
  "deckhand-compatibility": flag("string", "strict", supported),
  "deckhand-image-gc-keep": flag("strings", "[]", supported),
  "deckhand-image-gc-keep-unreachable": flag("bool", "false", supported),
  "deckhand-memory-signal": flag("string", "working-set", supported),
  "deckhand-serving-fallback": flag("bool", "true", supported),
  "cloud-provider": flag("string", "", supported),
  config: flag("string", "", supported),
  "config-dir": flag("string", "", supported),
  "exit-on-lock-contention": flag("bool", "false", supported),
  "experimental-allocatable-ignore-eviction": flag("bool", "false", supported, REMOVED),
  "experimental-mounter-path": flag(
    "string",
    "",
    unimplemented("mounts by a program that the user provides"),
    `${REMOVED} in favor of using CSI.`,
  ),
  "hostname-override": flag("string", "", supported),
  "image-credential-provider-bin-dir": flag("string", "", plugins),
  "image-credential-provider-config": flag("string", "", plugins),
  kubeconfig: flag("string", "", supported),
  "lock-file": flag("string", "", supported),
  "maximum-dead-containers": flag("int32", "-1", supported, EVICTION),
  "maximum-dead-containers-per-container": flag("int32", "1", supported, EVICTION),
  "minimum-container-ttl-duration": flag("duration", "0s", supported, EVICTION),
  "node-ip": flag("string", "", supported),
  "node-labels": flag("labels", "", supported),
  "root-dir": flag("string", "/var/lib/kubelet", supported),
  "runtime-cgroups": flag(
    "string",
    "",
    unimplemented("moving system processes into their cgroups; the statistics already include those cgroups"),
  ),
  "application-metrics-count-limit": cadvisor("int", "100"),
  "boot-id-file": cadvisor("string", "/proc/sys/kernel/random/boot_id"),
  "container-hints": cadvisor("string", "/etc/cadvisor/container_hints.json"),
  containerd: cadvisor("string", "/run/containerd/containerd.sock"),
  "containerd-namespace": cadvisor("string", "k8s.io"),
  "enable-load-reader": cadvisor("bool", "false"),
  "event-storage-age-limit": cadvisor("string", "default=0"),
  "event-storage-event-limit": cadvisor("string", "default=0"),
  "global-housekeeping-interval": cadvisor("duration", "1m0s"),
  "housekeeping-interval": flag("duration", "10s", accepted("Deckhand has no cAdvisor")),
  "log-cadvisor-usage": cadvisor("bool", "false"),
  "machine-id-file": cadvisor("string", "/etc/machine-id,/var/lib/dbus/machine-id"),
  "storage-driver-buffer-duration": cadvisor("duration", "1m0s"),
  "storage-driver-db": cadvisor("string", "cadvisor"),
  "storage-driver-host": cadvisor("string", "localhost:8086"),
  "storage-driver-password": cadvisor("string", "root"),
  "storage-driver-secure": cadvisor("bool", "false"),
  "storage-driver-table": cadvisor("string", "stats"),
  "storage-driver-user": cadvisor("string", "root"),
} as const satisfies Readonly<Record<string, AgentFlag>>;

export type AgentFlagName = keyof typeof AGENT_FLAGS;

export const AGENT_FLAG_NAMES = Object.keys(AGENT_FLAGS) as readonly AgentFlagName[];
