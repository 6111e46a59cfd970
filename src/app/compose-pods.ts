/** Loops that handle pods: their sources, workers, published status, and cleanup. */
import { isDefined } from "../base/is-defined.ts";
import { unlessShutDown } from "../concurrency/abort.ts";
import { LatestCell } from "../concurrency/latest-cell.ts";
import { Semaphore } from "../concurrency/semaphore.ts";
import { waitForValue } from "../concurrency/wait-for-value.ts";
import { TerminationTracker } from "../controllers/endings/termination-tracker.ts";
import { type ContainerGcOptions, collectContainers } from "../controllers/housekeeping/container-gc.ts";
import { LogRotation } from "../controllers/housekeeping/log-rotation.ts";
import { cleanUpOrphans, type OrphanCleanupOptions } from "../controllers/housekeeping/orphan-cleanup.ts";
import { collectImages } from "../controllers/images/image-gc.ts";
import { ImagePulls } from "../controllers/images/pulls.ts";
import { runApiSource } from "../controllers/pod-sources/api-source.ts";
import { runFileSource } from "../controllers/pod-sources/file-source.ts";
import { StaticPodNamer } from "../controllers/pod-sources/manifests.ts";
import { runUrlSource } from "../controllers/pod-sources/url-source.ts";
import { checkResolverFile } from "../controllers/pod-workers/host-resolver.ts";
import { ProbeLoop } from "../controllers/probes/probes.ts";
import { runMirrorPods } from "../controllers/status/mirror-pods.ts";
import { type StatusOptions, StatusPublisher } from "../controllers/status/status.ts";
import { VOLUME_PLUGINS } from "../controllers/volumes/plugins/volume-plugins.ts";
import { VolumeLoop } from "../controllers/volumes/volumes.ts";
import { warnOfSwap } from "../controllers/volumes/warn-of-swap.ts";
import { mountsRecursivelyReadOnly, runtimeName } from "../domain/node/runtime-health.ts";
import type { SourceState } from "../domain/pod/desired-pod.ts";
import type { PodSource } from "../domain/pod/pod-identity.ts";
import { userAgentOf } from "../domain/probes/http-get.ts";
import { podParents } from "../domain/resources/cgroup-name.ts";
import { podQosClass } from "../domain/resources/qos-class.ts";
import type { StaticPodFact } from "../domain/static-pods/static-pod-uid.ts";
import type { ApiServer } from "../ports/api-server.ts";
import type { Journal } from "../ports/journal.ts";
import { imageGcOptions } from "./compose-images.ts";
import { makeWorkers, type PodLoopParts } from "./compose-workers.ts";
import { KUBERNETES_VERSION } from "./version.ts";
import type { Loop, Wiring } from "./wiring.ts";

/** If compressing one log takes longer than this, the other logs no longer wait for it. */
const COMPRESSION_PATIENCE_MS = 60_000;
/** Where log agents look for container logs; the same on every node. */
const CONTAINER_LOG_LINKS = "/var/log/containers";

export function podSources(
  { ports, options, cells }: Wiring,
  journal: Journal,
  staticFacts: ReadonlyMap<string, StaticPodFact>,
): { readonly states: ReadonlyMap<PodSource, LatestCell<SourceState>>; readonly loops: readonly Loop[] } {
  const states = new Map<PodSource, LatestCell<SourceState>>();
  const loops: Loop[] = [];
  const nodeName = options.node.name;
  const log = ports.logOf("pod-sources");
  const add = (source: PodSource, run: (state: LatestCell<SourceState>, shutdown: AbortSignal) => Promise<void>) => {
    const state = new LatestCell<SourceState>({ kind: "unseen" });
    states.set(source, state);
    loops.push((shutdown) => run(state, shutdown));
  };
  const { clock, random, files, http } = ports;
  const namer = new StaticPodNamer({ clock, journal }, staticFacts, () => ({
    sandboxes: cells.listedSandboxes.value,
    mirrors: cells.desiredPods.value.mirrors,
  }));
  const { listedSandboxes } = cells;
  const { staticDirectory, staticUrl } = options.pods;
  if (staticDirectory !== undefined) {
    const { path, everyMs } = staticDirectory;
    add("file", (state, shutdown) =>
      runFileSource(
        { path, checkEveryMs: everyMs, nodeName },
        { files, clock, log, namer, listedSandboxes, state },
        shutdown,
      ),
    );
  }
  if (staticUrl !== undefined) {
    const settings = { ...staticUrl, checkEveryMs: staticUrl.everyMs, nodeName };
    add("http", (state, shutdown) =>
      runUrlSource(settings, { http, clock, log, namer, listedSandboxes, state }, shutdown),
    );
  }
  const { api } = ports;
  if (api !== undefined) {
    add("api", (state, shutdown) =>
      runApiSource({ api: api.main, clock, random, ownNode: cells.ownNode, log, state, nodeName }, shutdown),
    );
  }
  return { states, loops };
}

export function podLoops(wiring: Wiring, parts: PodLoopParts): readonly Loop[] {
  const { ports, options, events } = wiring;
  const { files, machine, mounts } = ports;
  const resolver = {
    path: options.pods.resolvConf,
    clusterDomain: options.pods.clusterDomain,
    nodeName: options.node.name,
  };
  // Created at once, so that probe results restored from the journal are available from the start.
  const probes = probeLoop(wiring, parts);
  return [
    ...(ports.api === undefined ? [] : statusLoops(wiring, ports.api.main)),
    (shutdown) => terminationTracker(wiring, parts).run(shutdown),
    (shutdown) => probes.run(shutdown),
    (shutdown) => volumeLoop(wiring, parts, shutdown).run(shutdown),
    () => checkResolverFile(resolver, { files, events }),
    () => warnOfSwap(options.node.name, { machine, mounts, events }),
    ...logRotation(wiring),
    (shutdown) => collectImages(imageGcOptions(wiring), shutdown),
    (shutdown) => workerLoops(wiring, parts, shutdown),
  ];
}

function statusLoops({ ports, options, cells, metrics }: Wiring, api: ApiServer): readonly Loop[] {
  const { clock, random } = ports;
  const { desiredPods, ownNode, runtimeHealth, listedSandboxes, podRuntimeStatus } = cells;
  const log = ports.logOf("status");
  const publisher: StatusOptions = {
    api,
    clock,
    random,
    log,
    desiredPods,
    ownNode,
    admittedPods: cells.admittedPods,
    podOutcomes: cells.podOutcomes,
    probeResults: cells.probeResults,
    blockedTerminations: cells.blockedTerminations,
    publishTroubles: cells.publishTroubles,
    qosClass: podQosClass,
    runtimeName: () => runtimeName(runtimeHealth.value),
    recursiveReadOnly: (handler) => mountsRecursivelyReadOnly(runtimeHealth.value, handler),
    stopSignals: options.gates.ContainerStopSignals,
    podMetrics: metrics.pods,
    queue: metrics.queue("pod_status"),
  };
  return [
    (shutdown) => new StatusPublisher(publisher).run(shutdown),
    (shutdown) =>
      runMirrorPods({ api, clock, random, log, desiredPods, ownNode, listedSandboxes, podRuntimeStatus }, shutdown),
  ];
}

const terminationTracker = ({ ports, cells, events }: Wiring, { journal }: PodLoopParts): TerminationTracker =>
  new TerminationTracker({
    clock: ports.clock,
    journal,
    events,
    log: ports.logOf("endings"),
    admittedPods: cells.admittedPods,
    terminationSteps: cells.terminationSteps,
    mountState: cells.mountState,
    publishTroubles: cells.publishTroubles,
    blockedTerminations: cells.blockedTerminations,
  });

/**
 * Runs the pod workers and everything else that uses their cgroups, once the cgroup driver is known and the cgroups
 * above pods exist.
 */
async function workerLoops(wiring: Wiring, parts: PodLoopParts, shutdown: AbortSignal): Promise<void> {
  const { ports, options, cells, events, metrics } = wiring;
  const cgroups = await unlessShutDown(shutdown, async () => {
    const found = await waitForValue(cells.cgroups, isDefined, shutdown);
    await waitForValue(cells.qosCgroups, ({ kind }) => kind === "ready", shutdown);
    return found;
  });
  if (cgroups === undefined) return;
  const { clock, files, runtime, tracer } = ports;
  const { admittedPods, podOutcomes, podRuntimeStatus, sourcesReady, mountState, volumesKnown } = cells;
  const { reclaimRequests, containersReclaimed } = cells;
  const directories = {
    rootDir: options.directories.root,
    podLogsDir: options.directories.podLogs,
    containerLogLinks: CONTAINER_LOG_LINKS,
  };
  const pulls = imagePulls(wiring);
  const worker = await makeWorkers(wiring, { ...parts, cgroups: cgroups.pods, pulls, directories }, shutdown);
  const cleaning = { files, clock, log: ports.logOf("housekeeping"), admittedPods, podOutcomes, podRuntimeStatus };
  const garbage: ContainerGcOptions = {
    ...cleaning,
    desiredPods: cells.desiredPods,
    runtime,
    tracer,
    events,
    sourcesReady,
    reclaimRequests,
    containersReclaimed,
    policy: options.containerGc,
    nodeName: options.node.name,
    containerLogLinks: directories.containerLogLinks,
    inspect: (uid, signal) => parts.runtimeCache.inspect(uid, signal),
  };
  const orphans: OrphanCleanupOptions = {
    ...cleaning,
    ...directories,
    cgroups: cgroups.pods,
    mountState,
    volumesKnown,
    sourcesReady,
    podParents,
    podMetrics: metrics.pods,
  };
  await Promise.all([
    worker.run(shutdown),
    pulls.run(shutdown),
    collectContainers(garbage, shutdown),
    cleanUpOrphans(orphans, shutdown),
  ]);
}

function logRotation({ ports, options, cells }: Wiring): readonly Loop[] {
  const { containerLogs: limits } = options;
  if (limits.kind === "unlimited") return [];
  const log = ports.logOf("housekeeping");
  const { clock, files, logFiles, runtime } = ports;
  const { podRuntimeStatus } = cells;
  const workers = new Semaphore(clock, { max: limits.workersMax, maxHoldMs: COMPRESSION_PATIENCE_MS });
  const parts = { runtime, files, logFiles, clock, log, podRuntimeStatus, policy: limits, workers };
  return [(shutdown) => new LogRotation(parts).run(shutdown)];
}

function volumeLoop(
  wiring: Wiring,
  { journal, journaledPods, localNode }: PodLoopParts,
  shutdown: AbortSignal,
): VolumeLoop {
  const { ports, options, cells, events } = wiring;
  const { clock, random, files, mounts } = ports;
  return new VolumeLoop({
    admittedPods: cells.admittedPods,
    podOutcomes: cells.podOutcomes,
    podRuntimeStatus: cells.podRuntimeStatus,
    sourcesReady: cells.sourcesReady,
    listedSandboxes: cells.listedSandboxes,
    referencedObjects: cells.referencedObjects,
    mountState: cells.mountState,
    volumesKnown: cells.volumesKnown,
    volumesInUse: cells.volumesInUse,
    ports: { clock, random, files, mounts, api: ports.api?.main, journal, events, log: ports.logOf("volumes") },
    localNode: () => localNode.read(shutdown),
    journaledPods,
    rootDir: options.directories.root,
    nodeName: options.node.name,
    plugins: VOLUME_PLUGINS,
    quotas: options.gates.LocalStorageCapacityIsolationFSQuotaMonitoring ? ports.quotas : undefined,
    volumeMetrics: wiring.metrics.volumes,
    queue: wiring.metrics.queue("pod_volumes"),
  });
}

function probeLoop(wiring: Wiring, { journal, journaledPods, localNode }: PodLoopParts): ProbeLoop {
  const { ports, cells, events, metrics } = wiring;
  return new ProbeLoop({
    clock: ports.clock,
    random: ports.random,
    prober: ports.prober,
    runtime: ports.runtime,
    podOutcomes: cells.podOutcomes,
    admittedPods: cells.admittedPods,
    desiredPods: cells.desiredPods,
    sourcesReady: cells.sourcesReady,
    probeResults: cells.probeResults,
    journal,
    events,
    journaledPods,
    log: ports.logOf("probes"),
    metrics: metrics.probes,
    cpus: async () => (await ports.machine.facts()).cpus,
    localNode: (signal) => localNode.read(signal),
    userAgent: userAgentOf("probe", KUBERNETES_VERSION),
  });
}

const imagePulls = ({ ports, options, cells, events, metrics }: Wiring): ImagePulls =>
  new ImagePulls({
    images: ports.images,
    files: ports.files,
    clock: ports.clock,
    referencedObjects: cells.referencedObjects,
    pullsUnderWay: cells.pullsUnderWay,
    unreachableRegistries: cells.unreachableRegistries,
    events,
    log: ports.logOf("images"),
    imageMetrics: metrics.images,
    limits: options.images.pulls,
    directories: {
      root: options.directories.root,
      working: options.images.workingDirectory,
      home: options.images.homeDirectory,
    },
  });
