/**
 * Builds the CRI configuration of a pod's sandbox. Its labels and annotations are the contract by which the next
 * kubelet finds it.
 */
import type { ContainerPort, Pod } from "../../api/gen/core-v1.ts";
import { dottedSysctl } from "../admission/sysctls.ts";
import { podLogDirectory, podNameOfObject } from "../pod/pod-names.ts";
import type { LinuxResources } from "../runtime/resources.ts";
import type { PortMapping, SandboxConfig } from "../runtime/sandbox.ts";
import { POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "./cri-keys.ts";
import type { ResolverConfig } from "./resolver-limits.ts";
import { type GivenIdentity, sandboxSecurity } from "./security-context.ts";

export interface SandboxSettings {
  readonly podLogsDir: string;
  readonly dns: ResolverConfig;
  readonly hostname: string;
  readonly cgroupParent: string;
  readonly overhead: LinuxResources | undefined;
  readonly resources: LinuxResources | undefined;
  readonly identity: GivenIdentity;
}

export function sandboxConfig(pod: Pod, attempt: number, settings: SandboxSettings): SandboxConfig {
  const name = podNameOfObject(pod);
  const { hostname, overhead, resources } = settings;
  return {
    metadata: { ...name, attempt },
    ...(pod.spec?.hostNetwork === true ? {} : { hostname }),
    logDirectory: podLogDirectory(settings.podLogsDir, name),
    dns: settings.dns,
    portMappings: (pod.spec?.containers ?? []).flatMap(({ ports }) => portMappings(ports ?? [])),
    labels: {
      ...pod.metadata?.labels,
      [POD_NAME_LABEL]: name.name,
      [POD_NAMESPACE_LABEL]: name.namespace,
      [POD_UID_LABEL]: name.uid,
    },
    annotations: { ...pod.metadata?.annotations },
    cgroupParent: settings.cgroupParent,
    security: sandboxSecurity(pod, settings.identity),
    sysctls: Object.fromEntries(
      (pod.spec?.securityContext?.sysctls ?? []).map(({ name, value }) => [dottedSysctl(name), value]),
    ),
    ...(overhead === undefined ? {} : { overhead }),
    ...(resources === undefined ? {} : { resources }),
  };
}

/** Maps a port that containers list twice only once: keyed by its name, else by all of its fields. */
function portMappings(ports: readonly ContainerPort[]): readonly PortMapping[] {
  const named = new Map<string, ContainerPort>();
  for (const port of ports) {
    const { name = "", protocol = "TCP", hostIP = "", containerPort, hostPort = 0 } = port;
    const key = name === "" ? [protocol, hostIP, containerPort, hostPort].join() : name;
    if (!named.has(key)) named.set(key, port);
  }
  return [...named.values()].map(portMapping);
}

function portMapping({ protocol, containerPort, hostPort, hostIP }: ContainerPort): PortMapping {
  return {
    protocol: protocol === "UDP" || protocol === "SCTP" ? protocol : "TCP",
    containerPort,
    hostPort: hostPort ?? 0,
    hostIp: hostIP ?? "",
  };
}
