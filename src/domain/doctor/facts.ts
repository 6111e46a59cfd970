/** The facts that doctor judges: the agent's configuration and the observed state of the host. */
import type { CertificateFacts } from "../identity/certificate-pair.ts";
import type { CgroupDriver, RuntimeCondition, RuntimeVersion } from "../runtime/runtime-info.ts";
import type { Probed } from "./finding.ts";

export interface HostFacts {
  readonly nowWallMs: number;
  readonly uid: number;
  readonly configuration: ConfigurationSeen;
  readonly node: NodeSeen;
  readonly runtime: RuntimeSeen;
  readonly network: NetworkSeen;
  readonly cgroups: CgroupsSeen;
  readonly swap: { readonly failsOn: boolean; readonly devices: Probed<readonly string[]> };
  readonly kernel: KernelSeen;
  readonly ports: PortsSeen;
  readonly identity: IdentitySeen;
  readonly api: ApiSeen;
  readonly disks: readonly DiskSeen[];
  readonly resolver: ResolverSeen;
  readonly programs: ProgramsSeen;
}

export interface ConfigurationSeen {
  /** Why the agent would not start; findings that depend on its settings are then omitted. */
  readonly refused: string | undefined;
  readonly lenient: string | undefined;
  readonly warnings: readonly string[];
  /** Features that the configuration enables and the agent does not have. */
  readonly notImplemented: readonly string[];
  readonly access: string | undefined;
}

export interface NodeSeen {
  readonly name: string;
  readonly standalone: boolean;
  /** Why the node has no address; undefined: it has one. */
  readonly addressTrouble: Probed<string | undefined>;
  /** Whether one of the node's addresses is an IPv6 address. */
  readonly ipv6: boolean;
}

export type RuntimeAnswer =
  | { readonly kind: "answers"; readonly version: RuntimeVersion }
  | { readonly kind: "silent"; readonly why: string }
  /** The server at the endpoint does not implement the CRI. */
  | { readonly kind: "noCri"; readonly why: string };

export interface RuntimeSeen {
  readonly endpoint: string;
  readonly answer: RuntimeAnswer;
  /** Queried only if the runtime answers. */
  readonly conditions: Probed<readonly RuntimeCondition[]>;
  /** Undefined: the runtime does not implement the request. */
  readonly driver: Probed<CgroupDriver | undefined>;
  /** The driver in the runtime's own settings, where the runtime reports them. */
  readonly driverOfSettings: CgroupDriver | undefined;
  /** Where the runtime keeps images; undefined: the runtime does not report it. */
  readonly imageDirectory: string | undefined;
  /** Why a separate image service does not answer. */
  readonly imageTrouble: { readonly endpoint: string; readonly why: string } | undefined;
}

export interface NetworkConfiguration {
  readonly file: string;
  /** The plugin types, including those of IPAM plugins; or why the configuration cannot be used. */
  readonly plugins: readonly string[] | { readonly fault: string };
}

/** Undefined fields: the runtime does not report its CNI directories. */
export interface NetworkSeen {
  readonly configured:
    | {
        readonly directory: string;
        /** The configuration that the runtime uses: the first by name. Undefined: there is none. */
        readonly configuration: Probed<NetworkConfiguration | undefined>;
      }
    | undefined;
  readonly programs: { readonly directories: readonly string[]; readonly found: Probed<readonly string[]> } | undefined;
  /** Whether the runtime uses the CNI plugin `loopback` to set up the loopback of each pod. */
  readonly needsLoopback: boolean;
}

export interface CgroupTree {
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
  readonly readOnly: boolean;
}

export interface CgroupsSeen {
  readonly configured: CgroupDriver;
  readonly systemd: Probed<boolean>;
  readonly tree: Probed<CgroupTree | undefined>;
}

export interface KernelSetting {
  readonly name: string;
  /** Undefined: this kernel does not have the setting. */
  readonly value: string | undefined;
  readonly writable: boolean;
}

export interface KernelSeen {
  readonly release: Probed<string>;
  /** Whether the agent may only read the settings (protectKernelDefaults). */
  readonly protect: boolean;
  /** Whether the agent continues when it cannot write a setting. */
  readonly mayFail: boolean;
  /** The settings that the agent manages, with the wanted values. */
  readonly tunables: Probed<readonly (KernelSetting & { readonly wanted: string })[]>;
  /** The other settings that matter. */
  readonly settings: Probed<readonly KernelSetting[]>;
  readonly fileSystems: Probed<readonly string[]>;
  /** Whether kernel messages can be read; undefined: not required. */
  readonly messages: Probed<true> | undefined;
}

export interface Listener {
  readonly address: string;
  readonly port: number;
  /** Undefined: no visible process owns it. */
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
  readonly listeners: Probed<readonly Listener[]>;
  readonly agents: Probed<readonly AgentProcess[]>;
}

/** A certificate with its key, as found on disk. */
export type PairSeen =
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly why: string }
  /** Whether the files exist could not be determined. */
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
  /** Undefined: no bootstrap kubeconfig is configured. */
  readonly bootstrapTrouble: { readonly why: string | undefined } | undefined;
  readonly rotates: boolean;
  /** The kubeconfig's client certificate; absent where the kubeconfig uses a token. */
  readonly client: PairSeen;
  readonly serving: PairSeen;
  readonly servingRotates: boolean;
  /** The CAs that verify client certificates; undefined: none are configured. */
  readonly clientCa: PairSeen | undefined;
}

export type ApiSeen =
  /** There is no API server to query, or there are no credentials for it. */
  | { readonly kind: "notAsked" }
  | { readonly kind: "silent"; readonly url: string; readonly why: string }
  | {
      readonly kind: "answers";
      readonly url: string;
      /** The status code of the request for our own Node. */
      readonly status: number;
      readonly message: string;
      /** Undefined: the server does not report it. */
      readonly version: { readonly major: number; readonly minor: number } | undefined;
      /** The server's clock minus ours. */
      readonly aheadMs: number | undefined;
      /** The machine ID of another live machine that reports under our node name. */
      readonly otherMachine: string | undefined;
    };

export interface DiskSeen {
  /** "agent", "images", "logs". */
  readonly use: string;
  readonly path: string;
  readonly room: Probed<{
    readonly availableBytes: bigint;
    readonly capacityBytes: bigint;
    readonly inodes: bigint;
    readonly inodesFree: bigint;
  }>;
  /** Undefined: the agent itself does not write there. */
  readonly writeTrouble: Probed<string | undefined> | undefined;
  /** The eviction thresholds: below them the node is under disk pressure; undefined: no threshold. */
  readonly bytesMin: Least | undefined;
  readonly inodesMin: Least | undefined;
}

/** An absolute amount, or a share of the capacity from 0 to 1. */
export type Least =
  | { readonly kind: "amount"; readonly amount: bigint }
  | { readonly kind: "share"; readonly share: number };

export interface ResolverSeen {
  /** Empty: pods get nothing from the node's resolver file. */
  readonly path: string;
  readonly text: { readonly kind: "text"; readonly text: string } | { readonly kind: "refused"; readonly why: string };
}

export interface ProgramsSeen {
  readonly wantsIptables: boolean;
  /** By program name, whether it is installed. */
  readonly found: Probed<Readonly<Record<string, boolean>>>;
}
