/** What the runtime says of itself. */
export interface RuntimeVersion {
  readonly name: string;
  readonly version: string;
  readonly apiVersion: string;
}

export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface RuntimeHandler {
  readonly name: string;
  readonly recursiveReadonlyMounts: boolean;
  readonly userNamespaces: boolean;
}

export interface RuntimeStatus {
  /** "RuntimeReady" and "NetworkReady" are always among them. */
  readonly conditions: readonly RuntimeCondition[];
  readonly handlers: readonly RuntimeHandler[];
  readonly supplementalGroupsPolicy: boolean;
  readonly userNamespacesHostNetwork: boolean;
  /** What the runtime adds when asked to be verbose. */
  readonly info: Readonly<Record<string, string>>;
}

export type CgroupDriver = "systemd" | "cgroupfs";
