/**
 * Builds the CRI security settings of a pod and its containers. Settings that cannot be honored are rejected at
 * admission, never dropped.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { allContainers } from "../pod/containers.ts";
import type { ContainerSecurityContext, NamespaceOptions, SecurityContext } from "../runtime/security.ts";
import { apparmorProfile, type SeccompSettings, seccompProfile } from "./security-profiles.ts";
import type { UserNamespace } from "./user-namespace.ts";

function namespaceOptions(pod: Pod, user: UserNamespace): NamespaceOptions {
  const spec = pod.spec;
  return {
    network: spec?.hostNetwork === true ? "node" : "pod",
    pid: spec?.hostPID === true ? "node" : spec?.shareProcessNamespace === true ? "pod" : "container",
    ipc: spec?.hostIPC === true ? "node" : "pod",
    user,
  };
}

/** The parts of a pod's identity that its spec does not contain. */
export interface GivenIdentity {
  /** The groups of its volumes, in addition to its supplemental groups. */
  readonly volumeGroups: readonly bigint[];
  readonly users: UserNamespace;
}

export function sandboxSecurity(pod: Pod, { volumeGroups, users }: GivenIdentity): SecurityContext {
  const own = pod.spec?.securityContext;
  const every = pod.spec === undefined ? [] : allContainers(pod.spec);
  return {
    namespaces: namespaceOptions(pod, users),
    privileged: every.some((container) => container.securityContext?.privileged === true),
    seccomp: { kind: "runtimeDefault" },
    ...identity(own, volumeGroups),
    ...selinux(own),
  };
}

/** The user of an image, which applies where the pod sets none. */
export interface ImageUser {
  readonly uid?: bigint;
  readonly username?: string;
}

export interface SecuritySettings extends SeccompSettings {
  /** The thermal files of each CPU, masked like the other paths where the machine has them. */
  readonly thermalPaths: readonly string[];
}

export function containerSecurity(
  pod: Pod,
  container: Container,
  settings: SecuritySettings &
    GivenIdentity & {
      readonly imageUser: ImageUser;
      /** The container whose PID namespace to join. */
      readonly targetId?: string | undefined;
    },
): ContainerSecurityContext {
  const ofPod = pod.spec?.securityContext;
  const own = container.securityContext;
  const privileged = own?.privileged === true;
  const user = own?.runAsUser ?? ofPod?.runAsUser;
  const group = own?.runAsGroup ?? ofPod?.runAsGroup;
  const apparmor = apparmorProfile(pod, container);
  // The API server has the same rule: in the host's user namespace, an unmasked /proc gives root in the container
  // access to the kernel's settings.
  const isUnmasked = own?.procMount === "Unmasked" && pod.spec?.hostUsers === false;
  return {
    namespaces: lookingInto(settings.targetId, namespaceOptions(pod, settings.users)),
    privileged,
    readonlyRootfs: own?.readOnlyRootFilesystem === true,
    noNewPrivileges: own?.allowPrivilegeEscalation === false,
    ...groups(ofPod, [...listedGroups(ofPod), ...settings.volumeGroups]),
    ...(user === undefined ? userOfImage(settings.imageUser) : { runAsUser: BigInt(user) }),
    ...(group === undefined ? {} : { runAsGroup: BigInt(group) }),
    ...selinux({ ...ofPod, ...(own?.seLinuxOptions === undefined ? {} : { seLinuxOptions: own.seLinuxOptions }) }),
    seccomp: seccompProfile(pod, container, settings),
    ...(apparmor === undefined ? {} : { apparmor }),
    ...(own?.capabilities === undefined
      ? {}
      : { capabilities: { add: own.capabilities.add ?? [], drop: own.capabilities.drop ?? [], addAmbient: [] } }),
    // Set for privileged containers too: the runtime knows that it must not mask anything for them.
    maskedPaths: isUnmasked ? [] : [...MASKED_PATHS, ...settings.thermalPaths],
    readonlyPaths: isUnmasked ? [] : READONLY_PATHS,
  };
}

/** In a shared PID namespace, or the host's, the processes of the target are visible already. */
const lookingInto = (targetId: string | undefined, own: NamespaceOptions): NamespaceOptions =>
  targetId === undefined || own.pid !== "container" ? own : { ...own, pid: "target", targetId };

/** An image without a user runs as root. */
const userOfImage = ({ uid, username }: ImageUser) =>
  uid === undefined && username !== undefined ? { runAsUsername: username } : { runAsUser: uid ?? 0n };

type PodSecurity = NonNullable<NonNullable<Pod["spec"]>["securityContext"]>;

function identity(own: PodSecurity | undefined, volumeGroups: readonly bigint[]): SecurityContext {
  return {
    ...groups(own, [...volumeGroups, ...listedGroups(own)]),
    ...(own?.runAsUser === undefined ? {} : { runAsUser: BigInt(own.runAsUser) }),
    ...(own?.runAsGroup === undefined ? {} : { runAsGroup: BigInt(own.runAsGroup) }),
  };
}

const listedGroups = (own: PodSecurity | undefined) => (own?.supplementalGroups ?? []).map(BigInt);

function groups(own: PodSecurity | undefined, others: readonly bigint[]): SecurityContext {
  return {
    supplementalGroups: [...(own?.fsGroup === undefined ? [] : [BigInt(own.fsGroup)]), ...others],
    supplementalGroupsPolicy: own?.supplementalGroupsPolicy === "Strict" ? "strict" : "merge",
  };
}

function selinux(own: PodSecurity | undefined): SecurityContext {
  const options = own?.seLinuxOptions;
  if (options === undefined) return {};
  return {
    selinux: {
      user: options.user ?? "",
      role: options.role ?? "",
      type: options.type ?? "",
      level: options.level ?? "",
    },
  };
}

const MASKED_PATHS = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
] as const;
const READONLY_PATHS = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"] as const;
