/** The sandbox a pod asks for, as the runtime takes it. Labels and annotations are the contract the next kubelet finds it by. */
import type { ContainerPort, Pod } from "../../api/gen/core-v1.ts";
import type { LinuxResources } from "../runtime/resources.ts";
import type { PortMapping, SandboxConfig } from "../runtime/sandbox.ts";
import { POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "./cri-keys.ts";
import { podLogFolder, podNameOfObject } from "./pod-names.ts";
import type { ResolverConfig } from "./resolver-limits.ts";
import { sandboxSecurity } from "./security-context.ts";

export interface SandboxSettings {
  readonly podLogsDir: string;
  readonly dns: ResolverConfig;
  readonly hostname: string;
  readonly cgroupParent: string;
  readonly overhead: LinuxResources | undefined;
  readonly resources: LinuxResources | undefined;
}

export function sandboxConfig(pod: Pod, attempt: number, settings: SandboxSettings): SandboxConfig {
  const name = podNameOfObject(pod);
  const { hostname, overhead, resources } = settings;
  return {
    metadata: { ...name, attempt },
    ...(pod.spec?.hostNetwork === true ? {} : { hostname }),
    logDirectory: podLogFolder(settings.podLogsDir, name),
    dns: settings.dns,
    portMappings: (pod.spec?.containers ?? []).flatMap(({ ports }) => (ports ?? []).map(portMapping)),
    labels: {
      ...pod.metadata?.labels,
      [POD_NAME_LABEL]: name.name,
      [POD_NAMESPACE_LABEL]: name.namespace,
      [POD_UID_LABEL]: name.uid,
    },
    annotations: { ...pod.metadata?.annotations },
    cgroupParent: settings.cgroupParent,
    security: sandboxSecurity(pod),
    sysctls: Object.fromEntries(
      (pod.spec?.securityContext?.sysctls ?? []).map(({ name, value }) => [dotted(name), value]),
    ),
    ...(overhead === undefined ? {} : { overhead }),
    ...(resources === undefined ? {} : { resources }),
  };
}

function portMapping({ protocol, containerPort, hostPort, hostIP }: ContainerPort): PortMapping {
  return {
    protocol: protocol === "UDP" || protocol === "SCTP" ? protocol : "TCP",
    containerPort,
    hostPort: hostPort ?? 0,
    hostIp: hostIP ?? "",
  };
}

/** `net/ipv4/x` and `net.ipv4.x` name the same; in the first form dots are part of a name. */
function dotted(name: string): string {
  const first = name.search(/[./]/);
  return first < 0 || name[first] === "." ? name : name.replaceAll(/[./]/g, (c) => (c === "/" ? "." : "/"));
}
