/** What the pod workers need of the world, and what they are set to. `WorkerContext` is all of it, and every step of a worker gets it whole. */
import type { Node, Service } from "../../api/gen/core-v1.ts";
import type { TurnObserver } from "../../concurrency/keyed-worker.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { LatestTable, ReadTable } from "../../concurrency/latest-table.ts";
import type { Turnstile } from "../../concurrency/turnstile.ts";
import type { KnownObject } from "../../domain/cluster-objects/known-object.ts";
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
import type { EndReport } from "../../domain/pod/ending.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { MadeParts, PodRuntimeView } from "../../domain/pod/runtime-view.ts";
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
import type { UserRanges } from "./user-ranges.ts";

export interface PodWorkerPorts {
  readonly runtime: Runtime;
  readonly pulls: PodImages;
  readonly files: HostFiles;
  readonly cgroups: Cgroups;
  readonly mounts: Mounts;
  readonly prober: Prober;
  readonly journal: Journal;
  readonly events: EventSink;
  /** As events, for who asks on the node only. */
  readonly asides?: EventSink;
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

/** Images, as the workers need them. */
export type PodImages = Pick<ImagePulls, "ensure" | "forget">;

export interface PodWorkerCells {
  readonly admittedPods: ReadTable<string, AdmittedPod>;
  /** Ends that somebody on the node asks for. */
  readonly endRequests: ReadTable<string, EndRequest>;
  /** Until every source has spoken, a pod that nobody wants may yet be wanted. */
  readonly sourcesReady: Latest<boolean>;
  readonly podRuntimeStatus: ReadTable<string, PodRuntimeView>;
  /** What the last whole list said; undefined before the first. */
  readonly listedSandboxes: Latest<readonly Sandbox[] | undefined>;
  readonly runtimeHealth: Latest<RuntimeHealth>;
  /** By "namespace/name"; undefined until they were first listed. */
  readonly services: Latest<ReadonlyMap<string, Service> | undefined>;
  readonly runtimeClasses: Latest<RuntimeClasses>;
  readonly referencedObjects: ReadTable<string, KnownObject<ApiObject>>;
  /** A pod whose entry here is settled may go on. */
  readonly pullsUnderWay: ReadTable<string, PullProgress>;
  readonly podOutcomes: LatestTable<string, PodOutcome>;
  /** Where the volumes of each pod are; what has no entry has none on this node. */
  readonly mountState: ReadTable<string, PodVolumes>;
  /** What lay on the node from before is known: until then nothing is known to be gone. */
  readonly volumesKnown: Latest<boolean>;
  /** What the probes say, by container id. */
  readonly probeResults: ReadTable<string, ProbeResult>;
  /** Which step of its end each pod that ends is at. */
  readonly endSteps: LatestTable<string, EndReport>;
  /** Full names of static pods that are being ended. */
  readonly endingPods: LatestCell<ReadonlySet<string>>;
  readonly looks: PodLooks;
  /** Pods whose status the runtime did not report after it had changed: what was last seen of them is out of date. */
  readonly statusFailures: ReadTable<string, string>;
}

/** The eye on the runtime, as the workers use it. */
export interface PodLooks {
  /** A look that begins now. */
  look(uid: string, signal: AbortSignal): Promise<PodRuntimeView>;
  /** What was last seen, unless the pod was acted upon since that look began. */
  present(uid: string): PodRuntimeView | undefined;
  /** The pod after an act that went well, for less than a look. */
  refresh(uid: string, made: MadeParts, signal: AbortSignal): Promise<PodRuntimeView>;
  /** Taken before the runtime is made to change the pod, disposed of when it has answered. */
  acting(uid: string): Disposable;
}

export interface PodWorkerSettings {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly containerLogLinks: string;
  readonly nodeName: string;
  /** Those the operator gave the node. */
  readonly nodeIps: readonly string[];
  readonly clusterDns: readonly string[];
  readonly hostname: HostnameSettings;
  /** Undefined: pods get nothing of the node's resolver. */
  readonly hostResolver: () => Promise<ResolverConfig | undefined>;
  /** Our Node as the API server has it, or as we would write it. */
  readonly localNode: () => Promise<Node>;
  /** As whom hooks ask. */
  readonly hookUserAgent: string;
  readonly security: SecuritySettings;
  readonly userRanges: Pick<UserRanges, "take" | "release">;
  /** Whether containers may name the signal that asks them to end. */
  readonly stopSignals: boolean;
  /** Whether the node labels files. */
  readonly selinux: boolean;
  readonly backoffCapMs: number;
  /** A pod with nothing to do is looked at again after so long. */
  readonly resyncMs: number;
  readonly resources: PodResourcePlan;
  /** How many pods may be in the making at once. */
  readonly starts: Turnstile;
}
