/** The runtime's version, conditions and handlers, as it reports them. */
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
  /** Additional information from a verbose request. */
  readonly info: Readonly<Record<string, string>>;
}

export type CgroupDriver = "systemd" | "cgroupfs";
