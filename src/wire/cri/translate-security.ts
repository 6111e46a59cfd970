/** Converts security contexts and namespaces to and from CRI. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { assertNever } from "../../base/assert.ts";
import type {
  ContainerSecurityContext,
  IdMapping,
  NamespaceMode,
  NamespaceOptions,
  SecurityContext,
  SecurityProfile,
} from "../../domain/runtime/security.ts";
import {
  type IDMapping,
  type LinuxContainerSecurityContextSchema,
  type LinuxSandboxSecurityContextSchema,
  NamespaceMode as NamespaceModeNumber,
  type NamespaceOption,
  type NamespaceOptionSchema,
  SecurityProfile_ProfileType,
  type SecurityProfileSchema,
  SupplementalGroupsPolicy,
} from "./gen/api_pb.js";
import { numberOf, present, type Words, wordOf } from "./parse.ts";

const MODES: Words<NamespaceMode, NamespaceModeNumber> = [
  ["pod", NamespaceModeNumber.POD],
  ["container", NamespaceModeNumber.CONTAINER],
  ["node", NamespaceModeNumber.NODE],
  ["target", NamespaceModeNumber.TARGET],
];

export function toSandboxSecurity(from: SecurityContext): MessageInitShape<typeof LinuxSandboxSecurityContextSchema> {
  return toCommon(from);
}

export function toContainerSecurity(
  from: ContainerSecurityContext,
): MessageInitShape<typeof LinuxContainerSecurityContextSchema> {
  const { capabilities } = from;
  return {
    ...toCommon(from),
    runAsUsername: from.runAsUsername ?? "",
    noNewPrivs: from.noNewPrivileges ?? false,
    maskedPaths: [...(from.maskedPaths ?? [])],
    readonlyPaths: [...(from.readonlyPaths ?? [])],
    // Older runtimes read only this field; upstream sets both.
    apparmorProfile: from.apparmor === undefined ? "" : oldProfileName(from.apparmor),
    ...(capabilities && {
      capabilities: {
        addCapabilities: [...capabilities.add],
        dropCapabilities: [...capabilities.drop],
        addAmbientCapabilities: [...capabilities.addAmbient],
      },
    }),
  };
}

function toCommon(from: SecurityContext) {
  return {
    ...(from.namespaces && { namespaceOptions: toNamespaces(from.namespaces) }),
    ...(from.selinux && { selinuxOptions: from.selinux }),
    ...(from.runAsUser !== undefined && { runAsUser: { value: from.runAsUser } }),
    ...(from.runAsGroup !== undefined && { runAsGroup: { value: from.runAsGroup } }),
    readonlyRootfs: from.readonlyRootfs ?? false,
    supplementalGroups: [...(from.supplementalGroups ?? [])],
    supplementalGroupsPolicy:
      from.supplementalGroupsPolicy === "strict" ? SupplementalGroupsPolicy.Strict : SupplementalGroupsPolicy.Merge,
    privileged: from.privileged ?? false,
    ...(from.seccomp && { seccomp: toProfile(from.seccomp) }),
    ...(from.apparmor && { apparmor: toProfile(from.apparmor) }),
  };
}

function toProfile(profile: SecurityProfile): MessageInitShape<typeof SecurityProfileSchema> {
  switch (profile.kind) {
    case "runtimeDefault":
      return { profileType: SecurityProfile_ProfileType.RuntimeDefault };
    case "unconfined":
      return { profileType: SecurityProfile_ProfileType.Unconfined };
    case "localhost":
      return { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: profile.reference };
    default:
      return assertNever(profile);
  }
}

function oldProfileName(profile: SecurityProfile): string {
  switch (profile.kind) {
    case "runtimeDefault":
      return "runtime/default";
    case "unconfined":
      return "unconfined";
    case "localhost":
      return `localhost/${profile.reference}`;
    default:
      return assertNever(profile);
  }
}

function toNamespaces(from: NamespaceOptions): MessageInitShape<typeof NamespaceOptionSchema> {
  const { user } = from;
  return {
    network: numberOf(MODES, from.network),
    pid: numberOf(MODES, from.pid),
    ipc: numberOf(MODES, from.ipc),
    targetId: from.targetId ?? "",
    ...(user && {
      usernsOptions: { mode: numberOf(MODES, user.mode), uids: [...user.uids], gids: [...user.gids] },
    }),
  };
}

export function fromNamespaces(from: NamespaceOption): NamespaceOptions {
  const { usernsOptions: user } = from;
  return present({
    network: wordOf(MODES, from.network, "network namespace mode"),
    pid: wordOf(MODES, from.pid, "PID namespace mode"),
    ipc: wordOf(MODES, from.ipc, "IPC namespace mode"),
    targetId: from.targetId || undefined,
    user: user && {
      mode: wordOf(MODES, user.mode, "user namespace mode"),
      uids: user.uids.map(fromIdMapping),
      gids: user.gids.map(fromIdMapping),
    },
  });
}

export const fromIdMapping = ({ hostId, containerId, length }: IDMapping): IdMapping => ({
  hostId,
  containerId,
  length,
});
