/** A container: the configuration sent to the runtime, and the state that the runtime reports. */
import type { ImageSpec } from "./image.ts";
import type { LinuxResources } from "./resources.ts";
import type { ContainerSecurityContext, IdMapping } from "./security.ts";

export interface ContainerMetadata {
  readonly name: string;
  readonly attempt: number;
}

export type MountPropagation = "private" | "hostToContainer" | "bidirectional";

export interface ContainerMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readonly?: boolean;
  readonly recursiveReadonly?: boolean;
  readonly selinuxRelabel?: boolean;
  readonly propagation?: MountPropagation;
  readonly uidMappings?: readonly IdMapping[];
  readonly gidMappings?: readonly IdMapping[];
  /** A mount of an image's files instead of a host path. */
  readonly image?: ImageSpec;
  readonly imageSubPath?: string;
}

/** Values are bytes: a Secret may hold data that is not text. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value: Uint8Array;
}

export interface ContainerConfig {
  readonly metadata: ContainerMetadata;
  readonly image: ImageSpec;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDirectory?: string;
  readonly environment?: readonly EnvironmentVariable[];
  readonly mounts?: readonly ContainerMount[];
  readonly devices?: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly permissions: string;
  }[];
  /** Fully qualified CDI device names. */
  readonly cdiDevices?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Relative to the sandbox's log directory. */
  readonly logPath?: string;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly tty?: boolean;
  readonly resources?: LinuxResources;
  readonly security?: ContainerSecurityContext;
  /** A signal's name as the Kubernetes API spells it ("SIGUSR1", "SIGRTMIN+3"). */
  readonly stopSignal?: string;
}

/** "unknown" is not "exited": such a container is stopped once before another one replaces it. */
export type ContainerState = "created" | "running" | "exited" | "unknown";

/** An entry of the container list. */
export interface Container {
  readonly id: string;
  readonly sandboxId: string;
  readonly metadata: ContainerMetadata;
  readonly state: ContainerState;
  readonly createdWallNs: bigint;
  readonly image: ImageSpec;
  readonly imageRef: string;
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface ContainerStatus {
  readonly id: string;
  readonly metadata: ContainerMetadata;
  readonly state: ContainerState;
  readonly createdWallNs: bigint;
  /** Absent until the container was started. */
  readonly startedWallNs?: bigint;
  /** Absent until the container exited. */
  readonly finishedWallNs?: bigint;
  /** Valid only after the container has exited. */
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
  readonly image: ImageSpec;
  readonly imageRef: string;
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly mounts: readonly ContainerMount[];
  readonly logPath: string;
  readonly resources?: LinuxResources;
  readonly user?: { readonly uid: bigint; readonly gid: bigint; readonly supplementalGroups: readonly bigint[] };
  readonly stopSignal?: string;
}

export interface ContainerFilter {
  readonly id?: string;
  readonly state?: ContainerState;
  readonly sandboxId?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A hint that something happened; the container list is authoritative. */
export interface ContainerEvent {
  readonly containerId: string;
  readonly kind: "created" | "started" | "stopped" | "deleted";
  readonly wallNs: bigint;
  /** The sandbox and the pod of the container, if the runtime reports them. */
  readonly sandboxId?: string;
  readonly podUid?: string;
}
