/**
 * The whole kubelet from ports and options, naming no adapter: the simulator calls this too. It reads as the wiring diagram: the cells
 * first, each with its one writer, then the loops. What needs no runtime starts at once; what does starts when the runtime has first
 * said that it is ready, so a kubelet started before its runtime waits and then carries on by itself.
 */
import type { Service } from "../api/gen/core-v1.ts";
import { type Latest, LatestCell } from "../concurrency/latest-cell.ts";
import { LatestTable } from "../concurrency/latest-table.ts";
import { Turns } from "../concurrency/turns.ts";
import { readCheckpoints, writeCheckpoints } from "../controllers/checkpoints/resize-checkpoints.ts";
import { EventRecorder } from "../controllers/events/event-recorder.ts";
import { logEventSink } from "../controllers/events/log-sink.ts";
import { Narrator, tellBoth } from "../controllers/explain/narrator.ts";
import { watchTroubles } from "../controllers/explain/watch-troubles.ts";
import { createJournal } from "../controllers/journal/journal.ts";
import { logJournalProblem } from "../controllers/journal/log-problem.ts";
import { Observer } from "../controllers/pleg/observer.ts";
import { Pleg } from "../controllers/pleg/pleg.ts";
import { watchRuntimeHealth } from "../controllers/pleg/runtime-health.ts";
import { runPodConfig } from "../controllers/pod-config/pod-config.ts";
import type { NodeCgroups } from "../controllers/resources/resources.ts";
import { SyncLoop } from "../controllers/sync-loop/sync-loop.ts";
import type { KnownObject } from "../domain/cluster-objects/known-object.ts";
import { type CertificateState, NO_CERTIFICATE } from "../domain/identity/certificate-state.ts";
import type { ServingCertificate } from "../domain/identity/serving-certificate.ts";
import type { PullProgress } from "../domain/images/pull-progress.ts";
import { foldFacts } from "../domain/journal/facts.ts";
import { decisionRecord } from "../domain/journal/records.ts";
import { type KubeletMetrics, kubeletMetrics } from "../domain/metrics/kubelet-metrics.ts";
import type { Pressure } from "../domain/node/conditions.ts";
import { NO_HOLDS, type NodeHolds } from "../domain/node/node-status.ts";
import type { NodeSync, OwnNode, Registration } from "../domain/node/own-node.ts";
import { NO_PRESSURE } from "../domain/node/pressure.ts";
import { RUNTIME_UNKNOWN, type RuntimeHealth } from "../domain/node/runtime-health.ts";
import type { AdmittedPod } from "../domain/pod/admitted-pod.ts";
import { type DesiredPods, noPods } from "../domain/pod/desired-pod.ts";
import type { EndNews, EndReport, StepReport } from "../domain/pod/ending.ts";
import type { PodOutcome } from "../domain/pod/pod-outcome.ts";
import type { RuntimeClasses } from "../domain/pod/runtime-handler.ts";
import type { PodRuntimeView } from "../domain/pod/runtime-view.ts";
import { staticPodFacts } from "../domain/pod/static-pod-uid.ts";
import type { ProbeResult } from "../domain/probes/verdicts.ts";
import { withCheckpoints } from "../domain/resize/takeover.ts";
import type { TiersState } from "../domain/resources/tiers-state.ts";
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
import type { Keys } from "../ports/keys.ts";
import type { Log } from "../ports/log.ts";
import type { LogFiles } from "../ports/log-files.ts";
import type { Machine } from "../ports/machine.ts";
import type { Mounts } from "../ports/mounts.ts";
import type { OwnProcess } from "../ports/own-process.ts";
import type { Prober } from "../ports/prober.ts";
import type { Random } from "../ports/random.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Stats } from "../ports/stats.ts";
import type { Tracer } from "../ports/tracer.ts";
import { admission } from "./compose-admission.ts";
import { type HostPorts, hostLoops, prepareHost } from "./compose-host.ts";
import { type ClientCredentials, clientCertificateLoops } from "./compose-identity.ts";
import { countedPorts, metricsLoops, readCells, readConstants } from "./compose-metrics.ts";
import { nodeLoops } from "./compose-node.ts";
import { podLoops, podSources } from "./compose-pods.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import { type LoopWatches, watchLoops } from "./watched-loops.ts";

export interface ApiPorts {
  readonly main: ApiServer;
  readonly heartbeats: ApiServer;
  readonly events: ApiServer;
  /** Whom they ask, with its port. */
  readonly host: string;
  /** Left out: the credentials stay as they are. */
  readonly credentials?: ClientCredentials;
}

export interface KubeletPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: HostFiles;
  readonly logFiles: LogFiles;
  readonly mounts: Mounts;
  readonly machine: Machine;
  readonly stats: Stats;
  readonly http: HttpFetch;
  readonly prober: Prober;
  readonly runtime: Runtime;
  readonly images: Images;
  /** By the driver that the runtime says it uses. */
  readonly cgroups: (driver: CgroupDriver) => NodeCgroups;
  /** Undefined: a node without an API server. Heartbeats and events go over clients of their own. */
  readonly process: OwnProcess;
  readonly tracer: Tracer;
  readonly api: ApiPorts | undefined;
  readonly keys: Keys;
  readonly host: HostPorts;
  readonly logOf: (module: string) => Log;
}

/** Every cell of the kubelet. Who writes it stands beside it; everyone else only reads. */
export interface Cells {
  readonly desiredPods: LatestCell<DesiredPods>; // pod-config
  readonly admittedPods: LatestTable<string, AdmittedPod>; // sync-loop
  readonly sourcesReady: LatestCell<boolean>; // sync-loop
  readonly podRuntimeStatus: LatestTable<string, PodRuntimeView>; // pleg, its observer
  readonly statusFailures: LatestTable<string, string>; // pleg
  readonly listedSandboxes: LatestCell<readonly Sandbox[] | undefined>; // pleg
  readonly runtimeHealth: LatestCell<RuntimeHealth>; // pleg, its status poll
  readonly podOutcomes: LatestTable<string, PodOutcome>; // pod-workers
  readonly endingPods: LatestCell<ReadonlySet<string>>; // pod-workers
  readonly endSteps: LatestTable<string, EndReport>; // pod-workers
  readonly publishTroubles: LatestTable<string, StepReport>; // status
  readonly blockedEnds: LatestTable<string, EndNews>; // endings
  readonly probeResults: LatestTable<string, ProbeResult>; // probes, by container id
  readonly cgroups: LatestCell<NodeCgroups | undefined>; // the second stage, once
  readonly tiers: LatestCell<TiersState>; // resources
  readonly ownNode: LatestCell<OwnNode>; // cluster-objects
  readonly services: LatestCell<ReadonlyMap<string, Service> | undefined>; // cluster-objects
  readonly runtimeClasses: LatestCell<RuntimeClasses>; // cluster-objects
  readonly referencedObjects: LatestTable<string, KnownObject<ApiObject>>; // cluster-objects
  readonly nodeRegistered: LatestCell<Registration>; // node, its registration
  readonly nodeSynced: LatestCell<NodeSync>; // node, its status loop
  readonly nodeImages: LatestCell<readonly Image[] | undefined>; // images
  readonly pullsUnderWay: LatestTable<string, PullProgress>; // images, its pulls
  readonly pressure: LatestCell<Pressure>; // eviction
  readonly mountState: LatestTable<string, PodVolumes>; // volumes
  readonly volumesKnown: LatestCell<boolean>; // volumes, once
  readonly volumesInUse: LatestCell<readonly string[] | undefined>; // volumes
  readonly nodeHolds: LatestCell<NodeHolds>; // node, its CSINode; shutdown, once built
  readonly clientCertificate: LatestCell<CertificateState>; // identity, its client certificate
  readonly servingState: LatestCell<CertificateState>; // identity, its serving certificate from the cluster
  readonly servingCertificate: LatestCell<ServingCertificate | undefined>; // identity
  /** A PEM bundle: whom it has signed may ask as who the certificate says they are. */
  readonly clientCa: LatestCell<string | undefined>; // identity
}

const makeCells = (): Cells => ({
  desiredPods: new LatestCell(noPods),
  admittedPods: new LatestTable(),
  sourcesReady: new LatestCell(false),
  podRuntimeStatus: new LatestTable(),
  statusFailures: new LatestTable(),
  listedSandboxes: new LatestCell<readonly Sandbox[] | undefined>(undefined),
  runtimeHealth: new LatestCell<RuntimeHealth>(RUNTIME_UNKNOWN),
  podOutcomes: new LatestTable(),
  endingPods: new LatestCell<ReadonlySet<string>>(new Set()),
  endSteps: new LatestTable(),
  publishTroubles: new LatestTable(),
  blockedEnds: new LatestTable(),
  probeResults: new LatestTable(),
  cgroups: new LatestCell<NodeCgroups | undefined>(undefined),
  tiers: new LatestCell<TiersState>({ kind: "pending" }),
  ownNode: new LatestCell<OwnNode>({ kind: "unknown" }),
  services: new LatestCell<ReadonlyMap<string, Service> | undefined>(undefined),
  runtimeClasses: new LatestCell<RuntimeClasses>(undefined),
  referencedObjects: new LatestTable(),
  nodeRegistered: new LatestCell<Registration>({ kind: "pending" }),
  nodeSynced: new LatestCell<NodeSync>({ kind: "never" }),
  nodeImages: new LatestCell<readonly Image[] | undefined>(undefined),
  pullsUnderWay: new LatestTable(),
  pressure: new LatestCell<Pressure>(NO_PRESSURE),
  mountState: new LatestTable(),
  volumesKnown: new LatestCell(false),
  volumesInUse: new LatestCell<readonly string[] | undefined>(undefined),
  nodeHolds: new LatestCell(NO_HOLDS),
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
  readonly watches: LoopWatches;
}

export type Loop = (shutdown: AbortSignal) => Promise<void>;

export interface Kubelet {
  /** Ends when `shutdown` aborts and every loop has come to rest; pods stay as they are. Rejects when a loop fails. */
  run(shutdown: AbortSignal): Promise<void>;
  /** Of the loops that are watched: for the health checks. */
  readonly turns: Turns;
  readonly cells: Cells;
  readonly metrics: KubeletMetrics;
  /** Those it was given, with their calls counted: for others that work beside it. */
  readonly ports: KubeletPorts;
}

export function compose(given: KubeletPorts, options: CompiledOptions): Kubelet {
  const cells = makeCells();
  const metrics = kubeletMetrics(() => given.clock.monotonicMs());
  readConstants(metrics.registry, options);
  readCells(metrics.registry, cells, options);
  const ports = countedPorts(given, metrics);
  const turns = new Turns(given.clock);
  const watches = watchLoops(turns, options, given.api !== undefined);
  return {
    cells,
    metrics,
    ports,
    turns,
    async run(shutdown) {
      const { clock, files, logOf } = ports;
      const duties = await prepareHost(ports, options);
      const recorder =
        ports.api === undefined ? undefined : eventRecorder(ports, options, ports.api.events, cells.ownNode);
      const journal = createJournal({
        files,
        folder: `${options.folders.root}/deckhand/journal`,
        clock,
        onProblem: (problem) => logJournalProblem(logOf("journal"), problem),
      });
      const narrator = new Narrator(journal, clock);
      const events = tellBoth(recorder ?? logEventSink(logOf("events"), 2), narrator);
      const wiring: Wiring = { ports, options, cells, events, metrics, watches };
      const records = await journal.replay();
      journal.note(decisionRecord({ uid: "", pod: "", wallMs: clock.wallMs() }, { kind: "startAgent" }));
      const checkpoints = { files, rootDir: options.folders.root, log: logOf("checkpoints") };
      const found = await readCheckpoints(checkpoints);
      const facts = withCheckpoints(foldFacts(records), found.allocated, found.actuated);
      const observer = new Observer({ ...ports, ...cells, plegMetrics: metrics.pleg, shutdown });
      const pleg = new Pleg({
        ...ports,
        observer,
        listedSandboxes: cells.listedSandboxes,
        statusFailures: cells.statusFailures,
        plegMetrics: metrics.pleg,
        queue: metrics.queue("pod_looks"),
        watch: watches.runtimeList,
        log: logOf("pleg"),
      });
      const sources = podSources(wiring, journal, staticPodFacts(records));
      const syncLoop = new SyncLoop({
        ...ports,
        ...cells,
        journal,
        events,
        log: logOf("sync-loop"),
        facts,
        ...admission(wiring),
        podMetrics: metrics.pods,
        resizeMetrics: metrics.resizes,
        watch: watches.syncLoop,
      });
      const loops: readonly Loop[] = [
        (signal) => pleg.run(signal),
        (signal) =>
          watchRuntimeHealth(
            {
              ...ports,
              ...cells,
              log: logOf("pleg"),
              lastListedMs: () => pleg.lastListedMs,
              watch: watches.runtimeHealth,
            },
            signal,
          ),
        ...sources.loops,
        (signal) =>
          runPodConfig({ ...ports, ...cells, sources: sources.states, events, log: logOf("pod-config") }, signal),
        (signal) => syncLoop.run(signal),
        (signal) => writeCheckpoints({ ...checkpoints, clock }, cells, found, signal),
        ...(recorder === undefined ? [] : [(signal: AbortSignal) => recorder.run(signal)]),
        ...clientCertificateLoops(wiring),
        ...nodeLoops(wiring),
        ...hostLoops(wiring, duties),
        ...metricsLoops(wiring),
        ...podLoops(wiring, { journal, facts, looks: observer, asides: narrator }),
        (signal) => watchTroubles({ ...cells, clock, narrator }, signal),
      ];
      try {
        await runAll(loops, shutdown);
      } finally {
        await journal.rest();
      }
    },
  };
}

const eventRecorder = (
  ports: KubeletPorts,
  options: CompiledOptions,
  api: ApiServer,
  ownNode: Latest<OwnNode>,
): EventRecorder =>
  new EventRecorder(
    { ...ports, api, ownNode, log: ports.logOf("events") },
    {
      nodeName: options.node.name,
      eventRecordQps: options.api.kind === "cluster" ? options.api.eventsPerSecond : 0,
      eventBurst: options.api.kind === "cluster" ? options.api.eventBurst : 0,
    },
  );

/** Runs until the end is asked for, or until one of them fails: then the others are ended too. */
async function runAll(loops: readonly Loop[], shutdown: AbortSignal): Promise<void> {
  const all = new AbortController();
  const end = () => all.abort(shutdown.reason);
  shutdown.addEventListener("abort", end, { once: true });
  if (shutdown.aborted) end();
  const outcomes = await Promise.allSettled(
    loops.map(async (loop) => {
      try {
        await loop(all.signal);
      } catch (error) {
        all.abort(error);
        throw error;
      }
    }),
  );
  shutdown.removeEventListener("abort", end);
  if (shutdown.aborted) return;
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}
