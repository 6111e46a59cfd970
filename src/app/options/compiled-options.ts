/**
 * What the agent runs on: every decision about flags, files and defaults is taken, nothing is optional. Parts of the agent
 * declare the slice they need; these have their names and units.
 */

import type { Quantity } from "../../base/quantity.ts";
import type { PairPaths } from "../../domain/identity/certificate-pair.ts";
import type { ReservedCpus } from "../../domain/resources/reserved-cpus.ts";
import type { EvictionThreshold } from "./eviction-thresholds.ts";
import type { FeatureGates } from "./feature-gates.ts";
import type { Configuration } from "./fields.ts";
import type { ServerSettings } from "./server-settings.ts";
import type { ModuleVerbosity, Taint } from "./value-types.ts";

export interface CompiledOptions {
  readonly node: NodeSettings;
  readonly folders: FolderSettings;
  readonly api: ApiSettings;
  readonly identity: IdentitySettings;
  readonly runtime: RuntimeSettings;
  readonly images: ImageSettings;
  readonly pods: PodSettings;
  readonly cgroups: CgroupSettings;
  readonly managers: ManagerSettings;
  readonly reserved: ReservedSettings;
  readonly eviction: EvictionSettings;
  readonly containerGc: ContainerGcSettings;
  readonly containerLogs: ContainerLogSettings;
  readonly stats: StatsSettings;
  readonly healthz: HealthzSettings;
  readonly logging: LogSettings;
  readonly server: ServerSettings;
  readonly tracing: TracingSettings;
  /** Undefined: none is taken. */
  readonly handoverLock: { readonly path: string; readonly endsWhenWanted: boolean } | undefined;
  readonly gates: FeatureGates;
  /** Everything, as `/configz` shows it. */
  readonly configuration: Configuration;
  /** Every flag with its value, as `/flagz` shows them. */
  readonly flags: Readonly<Record<string, string>>;
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

export interface IdentitySettings {
  /** Empty: there are no other credentials to begin with. */
  readonly bootstrapKubeconfigPath: string;
  /** The client certificate is renewed before its time. */
  readonly rotates: boolean;
  readonly serving: ServingSettings;
}

/** Where the certificate comes from that the node serves. `reload`: what changes on disk is served from then on. */
export type ServingSettings =
  | { readonly kind: "files"; readonly files: PairPaths; readonly reload: boolean }
  | { readonly kind: "selfSigned"; readonly reload: boolean }
  /** From the cluster. `files`: one of the operator's to begin with. */
  | {
      readonly kind: "cluster";
      readonly files: PairPaths | undefined;
      readonly dnsIsEnough: boolean;
      /** Until there is one, a self-signed one is served. */
      readonly fallback: boolean;
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
  /** How many users a pod has that has its own. */
  readonly idsPerPod: number;
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
  /** Undefined without the gate, and on cgroup v1. */
  readonly memoryQos: { readonly tiered: boolean; readonly throttlingFactor: number } | undefined;
  readonly oomScoreAdj: number;
}

/** Of what is handed out piece by piece. Nothing is yet; a resize is refused by these as the Go kubelet refuses it. */
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

export type ContainerLogSettings =
  /** Somebody else rotates them, or nobody. */
  | { readonly kind: "unlimited" }
  | {
      readonly kind: "limited";
      readonly bytesMax: number;
      readonly filesMax: number;
      readonly workersMax: number;
      readonly everyMs: number;
    };
interface StatsSettings {
  /** How old the last look at a volume may be. 0 or less: volumes are not looked at. */
  readonly volumesEveryMs: number;
  /** Groups of system processes that are told of. Empty: not named by the operator. */
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
      /** Of the traces that begin here, how many are kept. */
      readonly perMillion: number;
    };

export interface LogSettings {
  readonly format: "text" | "json";
  readonly verbosity: number;
  readonly modules: readonly ModuleVerbosity[];
  readonly flushEveryMs: number;
  /** Lines that are no errors go to standard output. */
  readonly splitStream: boolean;
}
