/**
 * The settings that the agent runs on: all decisions about flags, files and defaults are made, and nothing is optional.
 * Other modules declare the slice they need, with these names and units.
 */

import type { Quantity } from "../../base/quantity.ts";
import type { UndecidedPods } from "../../domain/admission/undecided-pods.ts";
import type { MemorySignal } from "../../domain/eviction/memory-signal.ts";
import type { ThresholdSettings } from "../../domain/eviction/thresholds.ts";
import type { ContainerGcPolicy } from "../../domain/housekeeping/container-gc.ts";
import type { PairPaths } from "../../domain/identity/certificate-pair.ts";
import type { ImageGcPolicy } from "../../domain/images/image-gc.ts";
import type { ReservedCpus } from "../../domain/resources/reserved-cpus.ts";
import type { FeatureGates } from "./feature-gates.ts";
import type { Configuration } from "./fields.ts";
import type { ServerSettings } from "./server-settings.ts";
import type { ModuleVerbosity, Taint } from "./value-types.ts";

export interface CompiledOptions {
  readonly compatibility: CompatibilitySettings;
  readonly node: NodeSettings;
  readonly directories: DirectorySettings;
  readonly api: ApiSettings;
  readonly identity: IdentitySettings;
  readonly runtime: RuntimeSettings;
  readonly images: ImageSettings;
  readonly pods: PodSettings;
  readonly cgroups: CgroupSettings;
  readonly managers: ManagerSettings;
  readonly reserved: ReservedSettings;
  readonly eviction: EvictionSettings;
  readonly containerGc: ContainerGcPolicy;
  readonly containerLogs: ContainerLogSettings;
  readonly stats: StatsSettings;
  readonly healthz: HealthzSettings;
  readonly logging: LogSettings;
  readonly server: ServerSettings;
  readonly tracing: TracingSettings;
  /** Undefined: the agent takes no such lock. */
  readonly handoverLock: { readonly path: string; readonly endsWhenWanted: boolean } | undefined;
  readonly gates: FeatureGates;
  /** The whole configuration, as `/configz` shows it. */
  readonly configuration: Configuration;
  /** Every flag with its value, as `/flagz` shows them. */
  readonly flags: Readonly<Record<string, string>>;
  /** Warnings to log at startup, one sentence each. */
  readonly warnings: readonly string[];
  /** Features that the configuration enables and this version does not have. */
  readonly notImplemented: readonly string[];
}

/** What --deckhand-compatibility decides, besides the number of parallel pulls where the configuration says nothing. */
interface CompatibilitySettings {
  readonly undecidedPods: UndecidedPods;
  /**
   * The agent exits, as the Go kubelet does, if at its start a serving certificate, a client CA file, a cgroup or a
   * checkpoint cannot be used, more is reserved than the machine has, or its port is taken. Otherwise it reports that
   * and retries.
   */
  readonly misconfigurationIsFatal: boolean;
}

export interface NodeSettings {
  readonly name: string;
  /** Addresses from --node-ip: none, one, or one of each family. */
  readonly ips: readonly string[];
  readonly externalCloud: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly register: boolean;
  readonly providerId: string;
  readonly podsMax: number;
  /** 0: no limit. */
  readonly podsPerCore: number;
  /** Used without an API server, which otherwise assigns each node's pod CIDR. Empty: the runtime has its own. */
  readonly podCidr: string;
  readonly statusEveryMs: number;
  readonly reportEveryMs: number;
  readonly leaseDurationSeconds: number;
  /** -1: all images. */
  readonly imagesMax: number;
  readonly localStorage: boolean;
  /** True: the controller attaches volumes, not the node. */
  readonly controllerAttach: boolean;
}

interface DirectorySettings {
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

export interface IdentitySettings {
  /** Empty: there are no bootstrap credentials. */
  readonly bootstrapKubeconfigPath: string;
  /** True: the client certificate is renewed before it expires. */
  readonly rotates: boolean;
  readonly serving: ServingSettings;
}

/** Source of the serving certificate. `reload`: changes on disk take effect while the agent runs. */
export type ServingSettings =
  | { readonly kind: "files"; readonly files: PairPaths; readonly reload: boolean }
  | { readonly kind: "selfSigned"; readonly reload: boolean }
  /** Signed by the cluster. `files`: an operator's pair to start with. */
  | {
      readonly kind: "cluster";
      readonly files: PairPaths | undefined;
      readonly dnsIsEnough: boolean;
      /** True: a self-signed certificate is served until the cluster has signed one. */
      readonly fallback: boolean;
    };

interface RuntimeSettings {
  readonly endpoint: string;
  readonly imageEndpoint: string;
  readonly requestLimitMs: number;
}

export interface ImageSettings {
  readonly pulls: {
    /** Maximum number of parallel pulls; may be infinite. */
    readonly most: number;
    /** 0: no limit. */
    readonly perSecond: number;
    readonly burst: number;
  };
  readonly gc: ImageGcPolicy;
  /** Directories that may hold registry credentials, besides the root directory. */
  readonly workingDirectory: string;
  readonly homeDirectory: string;
}

export interface PodSettings {
  readonly syncEveryMs: number;
  /** Undefined: no such source. */
  readonly staticDirectory: { readonly path: string; readonly everyMs: number } | undefined;
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
  /** Number of IDs in the user namespace of a pod that has its own. */
  readonly idsPerPod: number;
  readonly clusterDomain: string;
  readonly clusterDns: readonly string[];
  /** Empty: pods get no resolver configuration of the node. */
  readonly resolvConf: string;
}

export interface CgroupSettings {
  readonly version: 1 | 2;
  /** Used if the runtime does not report its driver. */
  readonly driver: "cgroupfs" | "systemd";
  readonly root: string;
  readonly perQos: boolean;
  /** Never contains "none": an empty set enforces nothing. */
  readonly enforced: ReadonlySet<string>;
  readonly cpuQuota: boolean;
  readonly cpuQuotaPeriodMs: number;
  /** -1: the node's limit. */
  readonly podPidsMax: bigint;
  readonly singleProcessOomKill: boolean;
  readonly failSwapOn: boolean;
  /** Undefined without the gate MemoryQoS, and on cgroup v1. */
  readonly memoryQos: { readonly tiered: boolean; readonly throttlingFactor: number } | undefined;
  /** Percentage of the memory requests that is reserved. Undefined without the gate QOSReserved. */
  readonly qosReservedMemory: bigint | undefined;
  readonly oomScoreAdj: number;
}

/**
 * Settings of swap and of the CPU and memory managers, which do not exist yet. A resize is rejected because of these
 * settings as in the Go kubelet.
 */
export interface ManagerSettings {
  readonly cpuManagerPolicy: string;
  readonly memoryManagerPolicy: string;
  readonly limitedSwap: boolean;
}

/** By resource: cpu, memory, ephemeral-storage, pid. */
export type Reservation = Readonly<Record<string, Quantity>>;

export interface ReservedSettings extends ReservedCpus {
  readonly kube: Reservation;
  readonly system: Reservation;
  readonly kubeCgroup: string;
  readonly systemCgroup: string;
}

export interface EvictionSettings extends ThresholdSettings {
  /** Bounds the grace period of pods that are evicted for a soft threshold. */
  readonly maxPodGraceSeconds: number;
  readonly memorySignal: MemorySignal;
  readonly conditionHoldMs: number;
  /** True: the hard thresholds are subtracted from allocatable. */
  readonly outOfAllocatable: boolean;
}

export type ContainerLogSettings =
  /** Another program rotates the logs, or none does. */
  | { readonly kind: "unlimited" }
  | {
      readonly kind: "limited";
      readonly bytesMax: number;
      readonly filesMax: number;
      readonly workersMax: number;
      readonly everyMs: number;
    };
interface StatsSettings {
  /** Maximum age of a volume's stats. 0 or less: volumes are not measured. */
  readonly volumesEveryMs: number;
  /** Cgroups of system processes that stats report. Empty: the operator named none. */
  readonly groups: { readonly kubelet: string; readonly runtime: string; readonly misc: string };
}

type HealthzSettings =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly address: string; readonly port: number };

type TracingSettings =
  | { readonly kind: "off" }
  | {
      readonly kind: "on";
      readonly endpoint: string;
      /** How many of a million traces that start here are recorded. */
      readonly perMillion: number;
    };

export interface LogSettings {
  readonly format: "text" | "json";
  readonly verbosity: number;
  readonly modules: readonly ModuleVerbosity[];
  readonly flushEveryMs: number;
  /** True: lines that are not errors go to standard output. */
  readonly splitStream: boolean;
}
