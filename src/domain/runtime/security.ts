/** The user that a container runs as, and the namespaces that it shares. An absent field is left to the runtime. */
export type NamespaceMode = "pod" | "container" | "node" | "target";

export interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

export interface NamespaceOptions {
  readonly network: NamespaceMode;
  readonly pid: NamespaceMode;
  readonly ipc: NamespaceMode;
  /** The container whose namespaces are joined, with mode "target". */
  readonly targetId?: string;
  readonly user?: {
    readonly mode: NamespaceMode;
    readonly uids: readonly IdMapping[];
    readonly gids: readonly IdMapping[];
  };
}

export interface SelinuxOptions {
  readonly user: string;
  readonly role: string;
  readonly type: string;
  readonly level: string;
}

export type SecurityProfile =
  | { readonly kind: "runtimeDefault" }
  | { readonly kind: "unconfined" }
  | { readonly kind: "localhost"; readonly reference: string };

export type SupplementalGroupsPolicy = "merge" | "strict";

/** The settings that a sandbox and a container have in common. */
export interface SecurityContext {
  readonly namespaces?: NamespaceOptions;
  readonly selinux?: SelinuxOptions;
  readonly runAsUser?: bigint;
  readonly runAsGroup?: bigint;
  readonly readonlyRootfs?: boolean;
  readonly supplementalGroups?: readonly bigint[];
  readonly supplementalGroupsPolicy?: SupplementalGroupsPolicy;
  readonly privileged?: boolean;
  readonly seccomp?: SecurityProfile;
  readonly apparmor?: SecurityProfile;
}

export interface ContainerSecurityContext extends SecurityContext {
  readonly runAsUsername?: string;
  readonly noNewPrivileges?: boolean;
  readonly maskedPaths?: readonly string[];
  readonly readonlyPaths?: readonly string[];
  readonly capabilities?: {
    readonly add: readonly string[];
    readonly drop: readonly string[];
    readonly addAmbient: readonly string[];
  };
}
