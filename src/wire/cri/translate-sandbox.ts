/** Converts sandboxes to and from CRI. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  PortMapping,
  Sandbox,
  SandboxConfig,
  SandboxMetadata,
  SandboxState,
  SandboxStatus,
} from "../../domain/runtime/sandbox.ts";
import {
  type PodSandbox,
  type PodSandboxConfigSchema,
  type PodSandboxMetadata,
  PodSandboxState,
  type PodSandboxStatus as PodSandboxStatusMessage,
  Protocol,
} from "./gen/api_pb.js";
import { nonEmpty, numberOf, required, type Words, wallNs, wordOf } from "./parse.ts";
import { toResources } from "./translate-resources.ts";
import { fromNamespaces, toSandboxSecurity } from "./translate-security.ts";

export const SANDBOX_STATES: Words<SandboxState, PodSandboxState> = [
  ["ready", PodSandboxState.SANDBOX_READY],
  ["notReady", PodSandboxState.SANDBOX_NOTREADY],
];
const PROTOCOLS: Words<PortMapping["protocol"], Protocol> = [
  ["TCP", Protocol.TCP],
  ["UDP", Protocol.UDP],
  ["SCTP", Protocol.SCTP],
];

export function toSandboxConfig(
  from: SandboxConfig,
  operation: string,
): MessageInitShape<typeof PodSandboxConfigSchema> {
  const { dns, security, overhead, resources } = from;
  return {
    metadata: from.metadata,
    hostname: from.hostname ?? "",
    logDirectory: from.logDirectory ?? "",
    ...(dns && { dnsConfig: { servers: [...dns.servers], searches: [...dns.searches], options: [...dns.options] } }),
    portMappings: (from.portMappings ?? []).map((mapping) => ({
      ...mapping,
      protocol: numberOf(PROTOCOLS, mapping.protocol),
    })),
    labels: { ...from.labels },
    annotations: { ...from.annotations },
    linux: {
      cgroupParent: from.cgroupParent ?? "",
      sysctls: { ...from.sysctls },
      ...(security && { securityContext: toSandboxSecurity(security) }),
      ...(overhead && { overhead: toResources(overhead, operation) }),
      ...(resources && { resources: toResources(resources, operation) }),
    },
  };
}

export function fromSandboxMetadata(from: PodSandboxMetadata | undefined, of: string): SandboxMetadata {
  const { name, namespace, uid, attempt } = required(from, `metadata of sandbox ${of}`);
  return { name, namespace, uid, attempt };
}

export function fromSandbox(from: PodSandbox | PodSandboxStatusMessage): Sandbox {
  const id = nonEmpty(from.id, "a sandbox's id");
  return {
    id,
    metadata: fromSandboxMetadata(from.metadata, id),
    state: wordOf(SANDBOX_STATES, from.state, `state of sandbox ${id}`),
    createdWallNs: wallNs(from.createdAt),
    labels: from.labels,
    annotations: from.annotations,
    runtimeHandler: from.runtimeHandler,
  };
}

export function fromSandboxStatus(from: PodSandboxStatusMessage): SandboxStatus {
  const { network, linux } = from;
  const ips = network === undefined ? [] : [network.ip, ...network.additionalIps.map(({ ip }) => ip)];
  const options = linux?.namespaces?.options;
  return {
    ...fromSandbox(from),
    ips: ips.filter((ip) => ip !== ""),
    ...(options && { namespaces: fromNamespaces(options) }),
  };
}
