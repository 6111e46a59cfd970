/**
 * The ports and cells of the kubelet, by name. `compose` and its helpers name each member that a loop gets, so the
 * compiler shows which loops read and write a cell: a loop's types demand `Latest` or `ReadonlyTable` to read,
 * `LatestCell` or `LatestTable` to write.
 */
import type { Service } from "../api/gen/core-v1.ts";
import { JoinedTable } from "../concurrency/joined-table.ts";
import { LatestCell } from "../concurrency/latest-cell.ts";
import { LatestTable, type ReadonlyTable } from "../concurrency/latest-table.ts";
import type { NodeCgroups } from "../controllers/resources/resources.ts";
import type { NodeStats } from "../controllers/stats/node-stats.ts";
import type { KnownObject } from "../domain/cluster-objects/references.ts";
import type { RuntimeClasses } from "../domain/container-config/runtime-handler.ts";
import {
  NO_RECLAIM_REQUESTS,
  NOTHING_RECLAIMED,
  type ReclaimReport,
  type ReclaimRequests,
} from "../domain/eviction/reclaim.ts";
import type { CertificatePair, PairPaths, ServingCertificate } from "../domain/identity/certificate-pair.ts";
import { type CertificateState, NO_CERTIFICATE } from "../domain/identity/certificate-state.ts";
import type { ImageRecords } from "../domain/images/image-gc.ts";
import type { PullProgress } from "../domain/images/pull-progress.ts";
import type { KubeletMetrics } from "../domain/metrics/kubelet-metrics.ts";
import type { Pressure } from "../domain/node/conditions.ts";
import { NO_NOT_READY_REASONS, type NotReadyReasons } from "../domain/node/node-status.ts";
import { NO_REPORT, type NodeReport, type NodeSync, type OwnNode, type Registration } from "../domain/node/own-node.ts";
import { NO_PRESSURE, NOTHING_MEASURED, type NodeUsage } from "../domain/node/pressure.ts";
import { RUNTIME_UNKNOWN, type RuntimeHealth } from "../domain/node/runtime-health.ts";
import type { AdmittedPod } from "../domain/pod/admitted-pod.ts";
import { type DesiredPods, noPods } from "../domain/pod/desired-pod.ts";
import { END_REQUESTERS, type EndRequest, type EndRequesterName, foldEndRequests } from "../domain/pod/end-request.ts";
import type { BlockedTermination, StepReport, TerminationReport } from "../domain/pod/ending.ts";
import type { PodOutcome } from "../domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../domain/pod/runtime-view.ts";
import type { ProbeResult } from "../domain/probes/verdicts.ts";
import type { QosCgroupState } from "../domain/resources/qos-cgroup-state.ts";
import type { Image } from "../domain/runtime/image.ts";
import type { CgroupDriver } from "../domain/runtime/runtime-info.ts";
import type { Sandbox } from "../domain/runtime/sandbox.ts";
import type { PodVolumes } from "../domain/volumes/volume-state.ts";
import type { ApiObject, ApiServer } from "../ports/api-server.ts";
import type { Clock } from "../ports/clock.ts";
import type { EventSink } from "../ports/event-sink.ts";
import type { HostFiles } from "../ports/host-files.ts";
import type { HttpFetch } from "../ports/http-fetch.ts";
import type { Images } from "../ports/images.ts";
import type { IptablesChains } from "../ports/iptables-chains.ts";
import type { KernelMessages } from "../ports/kernel-messages.ts";
import type { Keys } from "../ports/keys.ts";
import type { Log } from "../ports/log.ts";
import type { LogFiles } from "../ports/log-files.ts";
import type { Machine } from "../ports/machine.ts";
import type { Mounts } from "../ports/mounts.ts";
import type { OwnProcess } from "../ports/own-process.ts";
import type { Prober } from "../ports/prober.ts";
import type { Quotas } from "../ports/quotas.ts";
import type { Random } from "../ports/random.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Stats } from "../ports/stats.ts";
import type { Sysctls } from "../ports/sysctls.ts";
import type { Tracer } from "../ports/tracer.ts";
import type { WatchedLoops } from "./loop-watchdog.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";

/** Input of the client certificate loop: how the API server's clients authenticate. */
export interface ClientCredentials {
  /** Client with other credentials than the certificate, used while no certificate is valid. */
  readonly bootstrap: ApiServer;
  readonly embedded: CertificatePair | undefined;
  /** Where the kubeconfig finds its certificate, if it is not in the store. */
  readonly certificateFiles: PairPaths | undefined;
  /** Makes every client present this certificate from now on. */
  readonly show: (pair: CertificatePair) => void;
}

export interface HostPorts {
  readonly sysctls: Sysctls;
  readonly messages: KernelMessages;
  readonly chains: IptablesChains;
}

export interface ApiPorts {
  readonly main: ApiServer;
  readonly heartbeats: ApiServer;
  readonly events: ApiServer;
  /** Host of the API server, with its port. */
  readonly host: string;
  /** Omitted: the credentials are not rotated. */
  readonly credentials?: ClientCredentials;
}

export interface KubeletPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: HostFiles;
  readonly logFiles: LogFiles;
  readonly mounts: Mounts;
  readonly quotas: Quotas;
  readonly machine: Machine;
  readonly stats: Stats;
  readonly http: HttpFetch;
  readonly prober: Prober;
  readonly runtime: Runtime;
  readonly images: Images;
  /** Cgroups, made with the driver that the runtime reports. */
  readonly cgroups: (driver: CgroupDriver) => NodeCgroups;
  readonly process: OwnProcess;
  readonly tracer: Tracer;
  /** Undefined: a node without an API server. Heartbeats and events have their own clients. */
  readonly api: ApiPorts | undefined;
  readonly keys: Keys;
  readonly host: HostPorts;
  readonly logOf: (module: string) => Log;
}

const END_REQUESTER_NAMES = Object.keys(END_REQUESTERS) as readonly EndRequesterName[];

/** One table per requester, which alone writes it. */
export type EndRequestTables = Readonly<Record<EndRequesterName, LatestTable<string, EndRequest>>>;

/** All end requests as one table. */
export const endRequestsOf = ({ endRequests }: Pick<Cells, "endRequests">): ReadonlyTable<string, EndRequest> =>
  new JoinedTable(
    END_REQUESTER_NAMES.map((name) => endRequests[name]),
    foldEndRequests,
  );

/** Every cell of the kubelet. The comment beside each names its writer; everyone else only reads. */
export interface Cells {
  readonly desiredPods: LatestCell<DesiredPods>; // pod-config
  readonly admittedPods: LatestTable<string, AdmittedPod>; // sync-loop
  readonly endRequests: EndRequestTables; // each its requester; of preemption: sync-loop
  readonly sourcesReady: LatestCell<boolean>; // sync-loop
  readonly podRuntimeStatus: LatestTable<string, PodRuntimeView>; // pleg, its observer
  readonly statusFailures: LatestTable<string, string>; // pleg
  readonly listedSandboxes: LatestCell<readonly Sandbox[] | undefined>; // pleg
  readonly runtimeHealth: LatestCell<RuntimeHealth>; // pleg, its status poll
  readonly podOutcomes: LatestTable<string, PodOutcome>; // pod-workers
  readonly terminationSteps: LatestTable<string, TerminationReport>; // pod-workers
  readonly publishTroubles: LatestTable<string, StepReport>; // status
  readonly blockedTerminations: LatestTable<string, BlockedTermination>; // endings
  readonly probeResults: LatestTable<string, ProbeResult>; // probes, by container id
  readonly cgroups: LatestCell<NodeCgroups | undefined>; // resources, once
  readonly qosCgroups: LatestCell<QosCgroupState>; // resources
  readonly ownNode: LatestCell<OwnNode>; // cluster-objects
  readonly services: LatestCell<ReadonlyMap<string, Service> | undefined>; // cluster-objects
  readonly runtimeClasses: LatestCell<RuntimeClasses>; // cluster-objects
  readonly referencedObjects: LatestTable<string, KnownObject<ApiObject>>; // cluster-objects
  readonly nodeRegistered: LatestCell<Registration>; // node, its registration
  readonly nodeSynced: LatestCell<NodeSync>; // node, its status loop
  readonly nodeReport: LatestCell<NodeReport>; // node, its status loop
  readonly nodeImages: LatestCell<readonly Image[] | undefined>; // images
  readonly pullsUnderWay: LatestTable<string, PullProgress>; // images, its pulls
  readonly nodeUsage: LatestCell<NodeUsage>; // stats
  readonly unreachableRegistries: LatestCell<ReadonlySet<string>>; // images, its pulls
  readonly imageRecords: LatestCell<ImageRecords>; // images, its garbage collection
  readonly pressure: LatestCell<Pressure>; // eviction
  readonly reclaimRequests: LatestCell<ReclaimRequests>; // eviction
  readonly imagesReclaimed: LatestCell<ReclaimReport>; // images, its garbage collection
  readonly containersReclaimed: LatestCell<ReclaimReport>; // housekeeping, its container garbage collection
  readonly mountState: LatestTable<string, PodVolumes>; // volumes
  readonly volumesKnown: LatestCell<boolean>; // volumes, once
  readonly volumesInUse: LatestCell<readonly string[] | undefined>; // volumes
  readonly nodeNotReadyReasons: LatestCell<NotReadyReasons>; // node, its CSINode; shutdown, once built
  readonly clientCertificate: LatestCell<CertificateState>; // identity, its client certificate
  readonly servingState: LatestCell<CertificateState>; // identity, its serving certificate from the cluster
  readonly servingCertificate: LatestCell<ServingCertificate | undefined>; // identity
  /** A PEM bundle of CAs: a client certificate that one of them has signed authenticates its subject. */
  readonly clientCa: LatestCell<string | undefined>; // identity
}

export const makeCells = (): Cells => ({
  desiredPods: new LatestCell(noPods),
  admittedPods: new LatestTable(),
  endRequests: Object.fromEntries(
    END_REQUESTER_NAMES.map((name) => [name, new LatestTable<string, EndRequest>()]),
  ) as EndRequestTables,
  sourcesReady: new LatestCell(false),
  podRuntimeStatus: new LatestTable(),
  statusFailures: new LatestTable(),
  listedSandboxes: new LatestCell<readonly Sandbox[] | undefined>(undefined),
  runtimeHealth: new LatestCell<RuntimeHealth>(RUNTIME_UNKNOWN),
  podOutcomes: new LatestTable(),
  terminationSteps: new LatestTable(),
  publishTroubles: new LatestTable(),
  blockedTerminations: new LatestTable(),
  probeResults: new LatestTable(),
  cgroups: new LatestCell<NodeCgroups | undefined>(undefined),
  qosCgroups: new LatestCell<QosCgroupState>({ kind: "pending" }),
  ownNode: new LatestCell<OwnNode>({ kind: "unknown" }),
  services: new LatestCell<ReadonlyMap<string, Service> | undefined>(undefined),
  runtimeClasses: new LatestCell<RuntimeClasses>(undefined),
  referencedObjects: new LatestTable(),
  nodeRegistered: new LatestCell<Registration>({ kind: "pending" }),
  nodeSynced: new LatestCell<NodeSync>({ kind: "never" }),
  nodeReport: new LatestCell<NodeReport>(NO_REPORT),
  nodeImages: new LatestCell<readonly Image[] | undefined>(undefined),
  pullsUnderWay: new LatestTable(),
  nodeUsage: new LatestCell<NodeUsage>(NOTHING_MEASURED),
  unreachableRegistries: new LatestCell<ReadonlySet<string>>(new Set()),
  imageRecords: new LatestCell<ImageRecords>(new Map()),
  pressure: new LatestCell<Pressure>(NO_PRESSURE),
  reclaimRequests: new LatestCell<ReclaimRequests>(NO_RECLAIM_REQUESTS),
  imagesReclaimed: new LatestCell<ReclaimReport>(NOTHING_RECLAIMED),
  containersReclaimed: new LatestCell<ReclaimReport>(NOTHING_RECLAIMED),
  mountState: new LatestTable(),
  volumesKnown: new LatestCell(false),
  volumesInUse: new LatestCell<readonly string[] | undefined>(undefined),
  nodeNotReadyReasons: new LatestCell(NO_NOT_READY_REASONS),
  clientCertificate: new LatestCell(NO_CERTIFICATE),
  servingState: new LatestCell(NO_CERTIFICATE),
  servingCertificate: new LatestCell<ServingCertificate | undefined>(undefined),
  clientCa: new LatestCell<string | undefined>(undefined),
});

export interface Wiring {
  readonly ports: KubeletPorts;
  readonly options: CompiledOptions;
  readonly cells: Cells;
  readonly events: EventSink;
  readonly metrics: KubeletMetrics;
  readonly watched: WatchedLoops;
  readonly stats: NodeStats;
}

export type Loop = (shutdown: AbortSignal) => Promise<void>;
