/** What doctor knows of a host when it judges: what the agent is set to do, beside what is there. */
import type { CertificateFacts } from "../identity/certificate-pair.ts";
import type { CgroupDriver, RuntimeCondition, RuntimeVersion } from "../runtime/runtime-info.ts";
import type { Looked } from "./finding.ts";

export interface HostFacts {
  readonly nowWallMs: number;
  readonly uid: number;
  readonly configuration: ConfigurationSeen;
  readonly node: NodeSeen;
  readonly runtime: RuntimeSeen;
  readonly network: NetworkSeen;
  readonly cgroups: CgroupsSeen;
  readonly swap: { readonly failsOn: boolean; readonly devices: Looked<readonly string[]> };
  readonly kernel: KernelSeen;
  readonly ports: PortsSeen;
  readonly identity: IdentitySeen;
  readonly api: ApiSeen;
  readonly disks: readonly DiskSeen[];
  readonly resolver: ResolverSeen;
  readonly programs: ProgramsSeen;
}

export interface ConfigurationSeen {
  /** Why the agent would not start; what depends on it is not judged then. */
  readonly refused: string | undefined;
  readonly lenient: string | undefined;
  readonly warnings: readonly string[];
  readonly access: string | undefined;
}

export interface NodeSeen {
  readonly name: string;
  readonly standalone: boolean;
  /** Why it has no address; undefined when it has one. */
  readonly addressTrouble: Looked<string | undefined>;
  /** Whether one of its addresses is of IPv6. */
  readonly ipv6: boolean;
}

export type RuntimeAnswer =
  | { readonly kind: "answers"; readonly version: RuntimeVersion }
  | { readonly kind: "silent"; readonly why: string }
  /** Something is there that does not know the question. */
  | { readonly kind: "stranger"; readonly why: string };

export interface RuntimeSeen {
  readonly endpoint: string;
  readonly answer: RuntimeAnswer;
  /** Looked at when it answers. */
  readonly conditions: Looked<readonly RuntimeCondition[]>;
  /** Undefined: it does not know the question. */
  readonly driver: Looked<CgroupDriver | undefined>;
  /** What its own settings name, where it shows them. */
  readonly driverOfSettings: CgroupDriver | undefined;
  /** Where images are kept; undefined: it does not say. */
  readonly imageFolder: string | undefined;
  /** Why the image service, where it is another one, does not answer. */
  readonly imageTrouble: { readonly endpoint: string; readonly why: string } | undefined;
}

export interface NetworkConfiguration {
  readonly file: string;
  /** By their types, with those that hand out addresses; or why it cannot be used. */
  readonly plugins: readonly string[] | { readonly fault: string };
}

/** Undefined each: the runtime does not say where. */
export interface NetworkSeen {
  readonly configured:
    | {
        readonly folder: string;
        /** The one that the runtime takes: the first by name. Undefined: there is none. */
        readonly configuration: Looked<NetworkConfiguration | undefined>;
      }
    | undefined;
  readonly programs: { readonly folders: readonly string[]; readonly found: Looked<readonly string[]> } | undefined;
  /** Whether each pod's loopback is made by the plug-in of that name. */
  readonly needsLoopback: boolean;
}

export interface CgroupTree {
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
  readonly readOnly: boolean;
}

export interface CgroupsSeen {
  readonly configured: CgroupDriver;
  readonly systemd: Looked<boolean>;
  readonly tree: Looked<CgroupTree | undefined>;
}

export interface KernelSetting {
  readonly name: string;
  /** Undefined: this kernel does not have it. */
  readonly value: string | undefined;
  readonly writable: boolean;
}

export interface KernelSeen {
  readonly release: Looked<string>;
  /** Whether the agent may only look at the settings. */
  readonly protect: boolean;
  /** Whether it goes on where it cannot write one. */
  readonly mayFail: boolean;
  /** Those that the agent sees to, with what it wants. */
  readonly tunables: Looked<readonly (KernelSetting & { readonly wanted: string })[]>;
  /** The others that matter, by name. */
  readonly settings: Looked<readonly KernelSetting[]>;
  readonly fileSystems: Looked<readonly string[]>;
  /** Undefined: it need not be. */
  readonly messages: Looked<true> | undefined;
}

export interface Listener {
  readonly address: string;
  readonly port: number;
  /** Undefined: it belongs to none that can be seen. */
  readonly process: { readonly pid: number; readonly command: string } | undefined;
}

export interface AgentProcess {
  readonly pid: number;
  readonly command: string;
  readonly isDeckhand: boolean;
}

export interface WantedPort {
  readonly use: string;
  readonly address: string;
  readonly port: number;
}

export interface PortsSeen {
  readonly wanted: readonly WantedPort[];
  readonly listeners: Looked<readonly Listener[]>;
  readonly agents: Looked<readonly AgentProcess[]>;
}

/** A certificate with its key, as it was found. */
export type PairSeen =
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly why: string }
  /** Whether it is there could not be seen. */
  | { readonly kind: "unseen"; readonly why: string }
  | {
      readonly kind: "there";
      readonly where: string;
      readonly chain: readonly Pick<CertificateFacts, "subject" | "notBeforeWallMs" | "notAfterWallMs">[];
      readonly keyFits: boolean;
    };

export interface IdentitySeen {
  /** Why the kubeconfig cannot be used. */
  readonly kubeconfigTrouble: string | undefined;
  /** Undefined: there is no other to begin with. */
  readonly bootstrapTrouble: { readonly why: string | undefined } | undefined;
  readonly rotates: boolean;
  /** Of the kubeconfig; absent where it speaks by a token. */
  readonly client: PairSeen;
  readonly serving: PairSeen;
  readonly servingRotates: boolean;
  /** The authorities that callers are checked by; undefined: none are configured. */
  readonly clientCa: PairSeen | undefined;
}

export type ApiSeen =
  /** There is none to ask, or nothing to ask it with. */
  | { readonly kind: "notAsked" }
  | { readonly kind: "silent"; readonly url: string; readonly why: string }
  | {
      readonly kind: "answers";
      readonly url: string;
      /** Of the question for our own Node. */
      readonly status: number;
      readonly message: string;
      /** Undefined: it does not say. */
      readonly version: { readonly major: number; readonly minor: number } | undefined;
      /** Its clock, less ours. */
      readonly aheadMs: number | undefined;
      /** Another machine that is alive under our name, by its machine id. */
      readonly otherMachine: string | undefined;
    };

export interface DiskSeen {
  /** "agent", "images", "logs". */
  readonly use: string;
  readonly path: string;
  readonly room: Looked<{
    readonly availableBytes: bigint;
    readonly capacityBytes: bigint;
    readonly inodes: bigint;
    readonly inodesFree: bigint;
  }>;
  /** Undefined: the agent does not write there itself. */
  readonly writeTrouble: Looked<string | undefined> | undefined;
  /** With less than these, pods are evicted; undefined: with nothing. */
  readonly bytesMin: Least | undefined;
  readonly inodesMin: Least | undefined;
}

/** So many, or that share of all there are, from 0 to 1. */
export type Least =
  | { readonly kind: "amount"; readonly amount: bigint }
  | { readonly kind: "share"; readonly share: number };

export interface ResolverSeen {
  /** Empty: pods get none of the node's. */
  readonly path: string;
  readonly text: { readonly kind: "text"; readonly text: string } | { readonly kind: "refused"; readonly why: string };
}

export interface ProgramsSeen {
  readonly wantsIptables: boolean;
  /** By name, whether it is there. */
  readonly found: Looked<Readonly<Record<string, boolean>>>;
}
