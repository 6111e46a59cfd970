/**
 * What the agent runs on: every decision about flags, files and defaults is taken, nothing is optional. Parts of the agent
 * declare the slice they need; these have their names and units.
 */
import type { Quantity } from "../../base/quantity.ts";
import type { EvictionThreshold } from "./eviction-thresholds.ts";
import type { FeatureGates } from "./feature-gates.ts";
import type { Configuration } from "./fields.ts";
import type { ModuleVerbosity, Taint } from "./value-types.ts";

export interface CompiledOptions {
  readonly node: NodeSettings;
  readonly folders: FolderSettings;
  readonly api: ApiSettings;
  readonly runtime: RuntimeSettings;
  readonly images: ImageSettings;
  readonly pods: PodSettings;
  readonly cgroups: CgroupSettings;
  readonly reserved: ReservedSettings;
  readonly eviction: EvictionSettings;
  readonly containerGc: ContainerGcSettings;
  readonly healthz: HealthzSettings;
  readonly logging: LogSettings;
  readonly server: { readonly enabled: boolean; readonly port: number };
  readonly gates: FeatureGates;
  /** Everything, as `/configz` shows it. */
  readonly configuration: Configuration;
  /** What to say at the start, each a sentence. */
  readonly warnings: readonly string[];
}

export interface NodeSettings {
  readonly name: string;
  /** What the operator gave with --node-ip: none, one, or one of each family. */
  readonly ips: readonly string[];
  readonly externalCloud: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly register: boolean;
  readonly providerId: string;
  readonly podsMax: number;
  /** 0: no such limit. */
  readonly podsPerCore: number;
  /** For a node without an API server, which gives each of its nodes one. Empty: the runtime has its own. */
  readonly podCidr: string;
  readonly statusEveryMs: number;
  readonly reportEveryMs: number;
  readonly leaseDurationSeconds: number;
  /** -1: all. */
  readonly imagesMax: number;
  readonly localStorage: boolean;
  /** Volumes are attached by the controller, not by the node. */
  readonly controllerAttach: boolean;
}

interface FolderSettings {
  readonly root: string;
  readonly certificates: string;
  readonly podLogs: string;
}

export type ApiSettings =
  /** No API server: static pods only. */
  | { readonly kind: "standalone" }
  | {
      readonly kind: "cluster";
      readonly kubeconfigPath: string;
      readonly requestsPerSecond: number;
      readonly burst: number;
      readonly eventsPerSecond: number;
      readonly eventBurst: number;
      readonly heartbeatLimitMs: number;
    };

interface RuntimeSettings {
  readonly endpoint: string;
  readonly imageEndpoint: string;
  readonly requestLimitMs: number;
}

export interface ImageSettings {
  readonly pulls: {
    /** How many at once; may be infinite. */
    readonly most: number;
    /** 0: no such limit. */
    readonly perSecond: number;
    readonly burst: number;
  };
  /** Where registry logins may lie, beside the root folder. */
  readonly workingFolder: string;
  readonly homeFolder: string;
}

export interface PodSettings {
  readonly syncEveryMs: number;
  /** Undefined: no such source. */
  readonly staticFolder: { readonly path: string; readonly everyMs: number } | undefined;
  readonly staticUrl:
    | {
        readonly url: string;
        readonly everyMs: number;
        readonly headers: Readonly<Record<string, readonly string[]>>;
      }
    | undefined;
  readonly restartBackoffMsMax: number;
  readonly seccompDefault: boolean;
  readonly allowedUnsafeSysctls: readonly string[];
  readonly clusterDomain: string;
  readonly clusterDns: readonly string[];
  /** Empty: pods get no resolver of the node. */
  readonly resolvConf: string;
}

export interface CgroupSettings {
  readonly version: 1 | 2;
  /** What is used where the runtime does not say. */
  readonly driver: "cgroupfs" | "systemd";
  readonly root: string;
  readonly perQos: boolean;
  /** Without "none": an empty set enforces nothing. */
  readonly enforced: ReadonlySet<string>;
  readonly cpuQuota: boolean;
  readonly cpuQuotaPeriodMs: number;
  /** -1: what the node has. */
  readonly podPidsMax: bigint;
  readonly singleProcessOomKill: boolean;
  readonly failSwapOn: boolean;
  readonly oomScoreAdj: number;
}

/** By resource: cpu, memory, ephemeral-storage, pid. */
export type Reservation = Readonly<Record<string, Quantity>>;

export interface ReservedSettings {
  readonly kube: Reservation;
  readonly system: Reservation;
  readonly kubeCgroup: string;
  readonly systemCgroup: string;
  readonly cpus: ReadonlySet<number>;
}

export interface EvictionSettings {
  readonly hard: readonly EvictionThreshold[];
  readonly soft: readonly (EvictionThreshold & { readonly graceMs: number })[];
  readonly conditionHoldMs: number;
  /** Allocatable is what is left without the hard thresholds. */
  readonly outOfAllocatable: boolean;
}

interface ContainerGcSettings {
  readonly ageMsMin: number;
  readonly perContainerMax: number;
  /** Negative: no limit. */
  readonly nodeMax: number;
}

type HealthzSettings =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly address: string; readonly port: number };

export interface LogSettings {
  readonly format: "text" | "json";
  readonly verbosity: number;
  readonly modules: readonly ModuleVerbosity[];
  readonly flushEveryMs: number;
  /** Lines that are no errors go to standard output. */
  readonly splitStream: boolean;
}
