/** Converts containers to and from CRI. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  Container,
  ContainerConfig,
  ContainerMetadata,
  ContainerMount,
  ContainerState,
  ContainerStatus,
  MountPropagation,
} from "../../domain/runtime/container.ts";
import {
  type ContainerConfigSchema,
  type Container as ContainerMessage,
  type ContainerMetadata as ContainerMetadataMessage,
  ContainerState as ContainerStateNumber,
  type ContainerStatus as ContainerStatusMessage,
  type Mount,
  MountPropagation as MountPropagationNumber,
  type MountSchema,
} from "./gen/api_pb.js";
import { nonEmpty, numberOf, present, required, type Words, wallNs, wallNsOrAbsent, wordOf } from "./parse.ts";
import { fromSignal, toSignal } from "./signals.ts";
import { fromImageSpec, toImageSpec } from "./translate-image.ts";
import { fromResources, toResources } from "./translate-resources.ts";
import { fromIdMapping, toContainerSecurity } from "./translate-security.ts";

export const CONTAINER_STATES: Words<ContainerState, ContainerStateNumber> = [
  ["created", ContainerStateNumber.CONTAINER_CREATED],
  ["running", ContainerStateNumber.CONTAINER_RUNNING],
  ["exited", ContainerStateNumber.CONTAINER_EXITED],
  ["unknown", ContainerStateNumber.CONTAINER_UNKNOWN],
];
const PROPAGATIONS: Words<MountPropagation, MountPropagationNumber> = [
  ["private", MountPropagationNumber.PROPAGATION_PRIVATE],
  ["hostToContainer", MountPropagationNumber.PROPAGATION_HOST_TO_CONTAINER],
  ["bidirectional", MountPropagationNumber.PROPAGATION_BIDIRECTIONAL],
];

export function toContainerConfig(from: ContainerConfig): MessageInitShape<typeof ContainerConfigSchema> {
  const { resources, security } = from;
  return {
    metadata: from.metadata,
    image: toImageSpec(from.image),
    command: [...(from.command ?? [])],
    args: [...(from.args ?? [])],
    workingDir: from.workingDirectory ?? "",
    envs: (from.environment ?? []).map(({ name, value }) => ({ key: name, value })),
    mounts: (from.mounts ?? []).map(toMount),
    devices: [...(from.devices ?? [])],
    CDIDevices: (from.cdiDevices ?? []).map((name) => ({ name })),
    labels: { ...from.labels },
    annotations: { ...from.annotations },
    logPath: from.logPath ?? "",
    stdin: from.stdin ?? false,
    stdinOnce: from.stdinOnce ?? false,
    tty: from.tty ?? false,
    linux: {
      ...(resources && { resources: toResources(resources, "CreateContainer") }),
      ...(security && { securityContext: toContainerSecurity(security) }),
    },
    stopSignal: toSignal(from.stopSignal),
  };
}

function toMount(from: ContainerMount): MessageInitShape<typeof MountSchema> {
  return {
    containerPath: from.containerPath,
    hostPath: from.hostPath,
    readonly: from.readonly ?? false,
    recursiveReadOnly: from.recursiveReadonly ?? false,
    selinuxRelabel: from.selinuxRelabel ?? false,
    propagation: numberOf(PROPAGATIONS, from.propagation ?? "private"),
    uidMappings: [...(from.uidMappings ?? [])],
    gidMappings: [...(from.gidMappings ?? [])],
    ...(from.image && { image: toImageSpec(from.image) }),
    imageSubPath: from.imageSubPath ?? "",
  };
}

function fromMount(from: Mount): ContainerMount {
  return present({
    containerPath: from.containerPath,
    hostPath: from.hostPath,
    readonly: from.readonly,
    recursiveReadonly: from.recursiveReadOnly,
    selinuxRelabel: from.selinuxRelabel,
    propagation: wordOf(PROPAGATIONS, from.propagation, `propagation of mount ${from.containerPath}`),
    uidMappings: from.uidMappings.length === 0 ? undefined : from.uidMappings.map(fromIdMapping),
    gidMappings: from.gidMappings.length === 0 ? undefined : from.gidMappings.map(fromIdMapping),
    image: from.image && fromImageSpec(from.image),
    imageSubPath: from.imageSubPath || undefined,
  });
}

export function fromContainerMetadata(from: ContainerMetadataMessage | undefined, of: string): ContainerMetadata {
  const { name, attempt } = required(from, `metadata of container ${of}`);
  return { name, attempt };
}

/**
 * An unrecognized state becomes "unknown": such a container is stopped before another one replaces it. If the container
 * were left out of the list, a second one would start beside it.
 */
const stateOf = (state: ContainerStateNumber): ContainerState =>
  CONTAINER_STATES.find(([, number]) => number === state)?.[0] ?? "unknown";

export function fromContainer(from: ContainerMessage): Container {
  const id = nonEmpty(from.id, "a container's id");
  return {
    id,
    sandboxId: nonEmpty(from.podSandboxId, `the sandbox of container ${id}`),
    metadata: fromContainerMetadata(from.metadata, id),
    state: stateOf(from.state),
    createdWallNs: wallNs(from.createdAt),
    image: fromImageSpec(required(from.image, `image of container ${id}`)),
    imageRef: from.imageRef,
    imageId: from.imageId,
    labels: from.labels,
    annotations: from.annotations,
  };
}

export function fromContainerStatus(from: ContainerStatusMessage): ContainerStatus {
  const id = nonEmpty(from.id, "a container's id");
  const resources = from.resources?.linux;
  const user = from.user?.linux;
  return present({
    id,
    metadata: fromContainerMetadata(from.metadata, id),
    state: stateOf(from.state),
    createdWallNs: wallNs(from.createdAt),
    startedWallNs: wallNsOrAbsent(from.startedAt),
    finishedWallNs: wallNsOrAbsent(from.finishedAt),
    exitCode: from.exitCode,
    reason: from.reason,
    message: from.message,
    image: fromImageSpec(required(from.image, `image of container ${id}`)),
    imageRef: from.imageRef,
    imageId: from.imageId,
    labels: from.labels,
    annotations: from.annotations,
    mounts: from.mounts.map(fromMount),
    logPath: from.logPath,
    resources: resources && fromResources(resources),
    user: user && { uid: user.uid, gid: user.gid, supplementalGroups: user.supplementalGroups },
    stopSignal: fromSignal(from.stopSignal),
  });
}
