/** A pod's sandbox: the configuration sent to the runtime, and the state that the runtime reports. */
import type { ContainerStatus } from "./container.ts";
import type { LinuxResources } from "./resources.ts";
import type { NamespaceOptions, SecurityContext } from "./security.ts";

export interface SandboxMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly attempt: number;
}

export interface PortMapping {
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIp: string;
}

export interface SandboxConfig {
  readonly metadata: SandboxMetadata;
  readonly hostname?: string;
  readonly logDirectory?: string;
  readonly dns?: {
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  };
  readonly portMappings?: readonly PortMapping[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly cgroupParent?: string;
  readonly security?: SecurityContext;
  readonly sysctls?: Readonly<Record<string, string>>;
  readonly overhead?: LinuxResources;
  readonly resources?: LinuxResources;
}

export type SandboxState = "ready" | "notReady";

/** An entry of the sandbox list. */
export interface Sandbox {
  readonly id: string;
  readonly metadata: SandboxMetadata;
  readonly state: SandboxState;
  readonly createdWallNs: bigint;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly runtimeHandler: string;
}

export interface SandboxStatus extends Sandbox {
  /** Primary address first. Empty for a hostNetwork pod, and after the sandbox has stopped. */
  readonly ips: readonly string[];
  readonly namespaces?: NamespaceOptions;
}

/** The detailed state of one sandbox. */
export interface SandboxView {
  readonly status: SandboxStatus;
  /**
   * The containers as of `readWallNs`. Only a runtime with container events sets these two fields; otherwise both are
   * absent.
   */
  readonly containers?: readonly ContainerStatus[];
  readonly readWallNs?: bigint;
  /** Additional information from a verbose request. */
  readonly info: Readonly<Record<string, string>>;
}

export interface SandboxFilter {
  readonly id?: string;
  readonly state?: SandboxState;
  readonly labels?: Readonly<Record<string, string>>;
}
