/** A pod's and its containers' security settings as the runtime takes them. What cannot be honoured is refused at admission, never dropped. */
import type { Container, Pod, SeccompProfile } from "../../api/gen/core-v1.ts";
import type {
  ContainerSecurityContext,
  NamespaceOptions,
  SecurityContext,
  SecurityProfile,
} from "../runtime/security.ts";

function namespaceOptions(pod: Pod): NamespaceOptions {
  const spec = pod.spec;
  return {
    network: spec?.hostNetwork === true ? "node" : "pod",
    pid: spec?.hostPID === true ? "node" : spec?.shareProcessNamespace === true ? "pod" : "container",
    ipc: spec?.hostIPC === true ? "node" : "pod",
    user: { mode: "node", uids: [], gids: [] },
  };
}

export function sandboxSecurity(pod: Pod): SecurityContext {
  const own = pod.spec?.securityContext;
  const every = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  return {
    namespaces: namespaceOptions(pod),
    privileged: every.some((container) => container.securityContext?.privileged === true),
    seccomp: { kind: "runtimeDefault" },
    ...identity(own),
    ...selinux(own),
  };
}

/** The user an image says its programs run as, where the pod does not say. */
export interface ImageUser {
  readonly uid?: bigint;
  readonly username?: string;
}

export function containerSecurity(
  pod: Pod,
  container: Container,
  options: { readonly seccompDefault: boolean; readonly imageUser: ImageUser },
): ContainerSecurityContext {
  const ofPod = pod.spec?.securityContext;
  const own = container.securityContext;
  const privileged = own?.privileged === true;
  const user = own?.runAsUser ?? ofPod?.runAsUser;
  const group = own?.runAsGroup ?? ofPod?.runAsGroup;
  return {
    namespaces: namespaceOptions(pod),
    privileged,
    readonlyRootfs: own?.readOnlyRootFilesystem === true,
    noNewPrivileges: own?.allowPrivilegeEscalation === false,
    ...groups(ofPod),
    ...(user === undefined ? userOfImage(options.imageUser) : { runAsUser: BigInt(user) }),
    ...(group === undefined ? {} : { runAsGroup: BigInt(group) }),
    ...selinux({ ...ofPod, ...(own?.seLinuxOptions === undefined ? {} : { seLinuxOptions: own.seLinuxOptions }) }),
    seccomp: seccompProfile(own?.seccompProfile ?? ofPod?.seccompProfile, options.seccompDefault),
    ...(own?.capabilities === undefined
      ? {}
      : { capabilities: { add: own.capabilities.add ?? [], drop: own.capabilities.drop ?? [], addAmbient: [] } }),
    // Of a privileged container too: the runtime knows that it sees everything as it is.
    maskedPaths: MASKED_PATHS,
    readonlyPaths: READONLY_PATHS,
  };
}

/** An image that names nobody is root's. */
const userOfImage = ({ uid, username }: ImageUser) =>
  uid === undefined && username !== undefined ? { runAsUsername: username } : { runAsUser: uid ?? 0n };

type PodSecurity = NonNullable<NonNullable<Pod["spec"]>["securityContext"]>;

function identity(own: PodSecurity | undefined): SecurityContext {
  return {
    ...groups(own),
    ...(own?.runAsUser === undefined ? {} : { runAsUser: BigInt(own.runAsUser) }),
    ...(own?.runAsGroup === undefined ? {} : { runAsGroup: BigInt(own.runAsGroup) }),
  };
}

function groups(own: PodSecurity | undefined): SecurityContext {
  const listed = [...(own?.fsGroup === undefined ? [] : [own.fsGroup]), ...(own?.supplementalGroups ?? [])];
  return {
    supplementalGroups: listed.map((group) => BigInt(group)),
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

function seccompProfile(profile: SeccompProfile | undefined, byDefault: boolean): SecurityProfile {
  switch (profile?.type) {
    case "RuntimeDefault":
      return { kind: "runtimeDefault" };
    case "Localhost":
      return { kind: "localhost", reference: profile.localhostProfile ?? "" };
    case "Unconfined":
      return { kind: "unconfined" };
    default:
      return byDefault ? { kind: "runtimeDefault" } : { kind: "unconfined" };
  }
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
