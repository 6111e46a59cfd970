/** The ports, cells and settings of the pod workers. Every step of a worker gets the whole `WorkerContext`. */
import type { Node, Service } from "../../api/gen/core-v1.ts";
import type { TurnObserver } from "../../concurrency/keyed-worker.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { LatestTable, ReadonlyTable } from "../../concurrency/latest-table.ts";
import type { Semaphore } from "../../concurrency/semaphore.ts";
import type { KnownObject } from "../../domain/cluster-objects/references.ts";
import type { HostnameSettings } from "../../domain/container-config/hostname.ts";
import type { ResolverConfig } from "../../domain/container-config/resolver-limits.ts";
import type { RuntimeClasses } from "../../domain/container-config/runtime-handler.ts";
import type { SecuritySettings } from "../../domain/container-config/security-context.ts";
import type { PullProgress } from "../../domain/images/pull-progress.ts";
import type { ImageMetrics } from "../../domain/metrics/image-metrics.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import type { ResizeMetrics } from "../../domain/metrics/resize-metrics.ts";
import type { RuntimeHealth } from "../../domain/node/runtime-health.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { EndRequest } from "../../domain/pod/end-request.ts";
import type { TerminationReport } from "../../domain/pod/ending.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { CreatedParts, PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { ProbeResult } from "../../domain/probes/verdicts.ts";
import type { PodResourcePlan } from "../../domain/resources/pod-resource-plan.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import type { PodVolumes } from "../../domain/volumes/volume-state.ts";
import type { ApiObject } from "../../ports/api-server.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";
import type { Mounts } from "../../ports/mounts.ts";
import type { Prober } from "../../ports/prober.ts";
import type { Random } from "../../ports/random.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Tracer } from "../../ports/tracer.ts";
import type { ImagePulls } from "../images/pulls.ts";
import type { UserNamespaceAllocator } from "./user-namespace-allocator.ts";

export interface PodWorkerPorts {
  readonly runtime: Runtime;
  readonly pulls: PodImages;
  readonly files: HostFiles;
  readonly cgroups: Cgroups;
  readonly mounts: Mounts;
  readonly prober: Prober;
  readonly journal: Journal;
  readonly events: EventSink;
  /** Journals events that only `explain` on the node shows. */
  readonly journalEvents?: EventSink;
  readonly clock: Clock;
  readonly random: Random;
  readonly tracer: Tracer;
  readonly log: Log;
  readonly podMetrics?: PodMetrics;
  readonly imageMetrics?: ImageMetrics;
  readonly resizeMetrics?: Pick<ResizeMetrics, "duration">;
  readonly queue?: TurnObserver<string>;
}

export interface WorkerContext {
  readonly ports: PodWorkerPorts;
  readonly cells: PodWorkerCells;
  readonly settings: PodWorkerSettings;
}

/** The part of image pulls that workers use. */
export type PodImages = Pick<ImagePulls, "ensure" | "forget">;

export interface PodWorkerCells {
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  /** Terminations requested on the node. */
  readonly endRequests: ReadonlyTable<string, EndRequest>;
  /** Until all sources are ready, a pod that no source has may still be wanted. */
  readonly sourcesReady: Latest<boolean>;
  readonly podRuntimeStatus: ReadonlyTable<string, PodRuntimeView>;
  /** The last full list; undefined before the first. */
  readonly listedSandboxes: Latest<readonly Sandbox[] | undefined>;
  readonly runtimeHealth: Latest<RuntimeHealth>;
  /** Keyed by "namespace/name"; undefined before the first list. */
  readonly services: Latest<ReadonlyMap<string, Service> | undefined>;
  readonly runtimeClasses: Latest<RuntimeClasses>;
  readonly referencedObjects: ReadonlyTable<string, KnownObject<ApiObject>>;
  /** A settled entry wakes the pod. */
  readonly pullsUnderWay: ReadonlyTable<string, PullProgress>;
  readonly podOutcomes: LatestTable<string, PodOutcome>;
  /** The volumes of each pod; a pod without an entry has none on this node. */
  readonly mountState: ReadonlyTable<string, PodVolumes>;
  /** Whether the volumes from previous kubelet processes are known: until then no volume counts as unmounted. */
  readonly volumesKnown: Latest<boolean>;
  /** Probe results by container ID. */
  readonly probeResults: ReadonlyTable<string, ProbeResult>;
  /** The current termination step of each terminating pod. */
  readonly terminationSteps: LatestTable<string, TerminationReport>;
  readonly runtimeCache: RuntimeCache;
  /** Pods whose status the runtime did not report after a change: their last view is out of date. */
  readonly statusFailures: ReadonlyTable<string, string>;
}

/** The inspections of the runtime that workers use. */
export interface RuntimeCache {
  /** Inspects the pod now. */
  inspect(uid: string, signal: AbortSignal): Promise<PodRuntimeView>;
  /** The last inspected view, unless the pod was mutated after that inspection began. */
  cached(uid: string): PodRuntimeView | undefined;
  /** The pod after a successful mutation, at a lower cost than a full inspection. */
  refresh(uid: string, created: CreatedParts, signal: AbortSignal): Promise<PodRuntimeView>;
  /** Call before the runtime mutates the pod; dispose of the result when the call has returned. */
  mutating(uid: string): Disposable;
}

export interface PodWorkerSettings {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly containerLogLinks: string;
  readonly nodeName: string;
  /** Node IPs that the operator configured. */
  readonly nodeIps: readonly string[];
  readonly clusterDns: readonly string[];
  readonly hostname: HostnameSettings;
  /** Undefined: pods get nothing from the node's resolv.conf. */
  readonly hostResolver: () => Promise<ResolverConfig | undefined>;
  /** The Node from the API server, or as we would register it. */
  readonly localNode: () => Promise<Node>;
  /** The User-Agent of HTTP hooks. */
  readonly hookUserAgent: string;
  readonly security: SecuritySettings;
  readonly userNamespaces: Pick<UserNamespaceAllocator, "allocate" | "release">;
  /** Whether containers may specify their stop signal. */
  readonly stopSignals: boolean;
  /** Whether SELinux labels files on the node. */
  readonly selinux: boolean;
  readonly backoffCapMs: number;
  /** The interval after which an idle pod is synced again. */
  readonly resyncMs: number;
  readonly resources: PodResourcePlan;
  /** Limits how many pods are started in parallel. */
  readonly starts: Semaphore;
}
