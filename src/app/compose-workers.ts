/** Builds the pod workers: their ports, their cells, and their settings from the options and the machine. */
import { Semaphore } from "../concurrency/semaphore.ts";
import type { ImagePulls } from "../controllers/images/pulls.ts";
import type { LocalNode } from "../controllers/node/local-node.ts";
import { readHostResolver } from "../controllers/pod-workers/host-resolver.ts";
import { PodWorkers } from "../controllers/pod-workers/pod-workers.ts";
import { UserNamespaceAllocator } from "../controllers/pod-workers/user-namespace-allocator.ts";
import type {
  PodWorkerCells,
  PodWorkerPorts,
  PodWorkerSettings,
  RuntimeCache,
} from "../controllers/pod-workers/worker-options.ts";
import { hugepageSizesOf } from "../controllers/resources/node-groups.ts";
import { swapSettings } from "../controllers/resources/swap-settings.ts";
import { idSpace } from "../domain/container-config/user-namespace.ts";
import type { JournaledPod } from "../domain/journal/journaled-pod.ts";
import { userAgentOf } from "../domain/probes/http-get.ts";
import { podResourcePlan } from "../domain/resources/pod-resource-plan.ts";
import type { Cgroups } from "../ports/cgroups.ts";
import type { EventSink } from "../ports/event-sink.ts";
import type { Journal } from "../ports/journal.ts";
import type { MachineFacts } from "../ports/machine.ts";
import { allocatableMemoryBytes } from "./node-options.ts";
import { KUBERNETES_VERSION } from "./version.ts";
import { type Cells, endRequestsOf, type Wiring } from "./wiring.ts";

/**
 * How many pods per CPU may start at once. Beyond that, pods wait for each other's processes. On two CPUs this limit
 * halved the time to the median start of a burst of 100; the last pod started no later.
 */
const STARTS_PER_CPU = 4;
const START_PATIENCE_MS = 5_000;
/** Parts that the pod loops share besides the wiring. */
export interface PodLoopParts {
  readonly journal: Journal;
  readonly journaledPods: ReadonlyMap<string, JournaledPod>;
  readonly runtimeCache: RuntimeCache;
  readonly journalEvents: EventSink;
  readonly localNode: LocalNode;
}

interface WorkerParts extends PodLoopParts {
  readonly cgroups: Cgroups;
  readonly pulls: ImagePulls;
  readonly directories: Pick<PodWorkerSettings, "rootDir" | "podLogsDir" | "containerLogLinks">;
}

export const makeWorkers = async (wiring: Wiring, parts: WorkerParts, shutdown: AbortSignal): Promise<PodWorkers> =>
  new PodWorkers(
    workerPorts(wiring, parts),
    workerCells(wiring.cells, parts.runtimeCache),
    await workerSettings(wiring, parts, shutdown),
    parts.journaledPods,
  );

const workerPorts = (
  { ports, events, metrics }: Wiring,
  { cgroups, journal, journalEvents, pulls }: WorkerParts,
): PodWorkerPorts => ({
  runtime: ports.runtime,
  files: ports.files,
  mounts: ports.mounts,
  prober: ports.prober,
  clock: ports.clock,
  random: ports.random,
  tracer: ports.tracer,
  cgroups,
  journal,
  events,
  journalEvents,
  pulls,
  podMetrics: metrics.pods,
  imageMetrics: metrics.images,
  resizeMetrics: metrics.resizes,
  queue: metrics.queue("pod_workers"),
  log: ports.logOf("pod-workers"),
});

const workerCells = (cells: Cells, runtimeCache: RuntimeCache): PodWorkerCells => ({
  admittedPods: cells.admittedPods,
  endRequests: endRequestsOf(cells),
  sourcesReady: cells.sourcesReady,
  podRuntimeStatus: cells.podRuntimeStatus,
  listedSandboxes: cells.listedSandboxes,
  runtimeHealth: cells.runtimeHealth,
  services: cells.services,
  runtimeClasses: cells.runtimeClasses,
  referencedObjects: cells.referencedObjects,
  pullsUnderWay: cells.pullsUnderWay,
  podOutcomes: cells.podOutcomes,
  mountState: cells.mountState,
  volumesKnown: cells.volumesKnown,
  probeResults: cells.probeResults,
  terminationSteps: cells.terminationSteps,
  runtimeCache,
  statusFailures: cells.statusFailures,
});

async function workerSettings(
  wiring: Wiring,
  { cgroups, directories, localNode }: WorkerParts,
  shutdown: AbortSignal,
): Promise<PodWorkerSettings> {
  const { ports, options } = wiring;
  const { pods } = options;
  const machine = await ports.machine.facts();
  const resources = await resourcePlan(wiring, cgroups, machine);
  return {
    ...directories,
    nodeName: options.node.name,
    nodeIps: options.node.ips,
    clusterDns: pods.clusterDns,
    hostname: { clusterDomain: pods.clusterDomain, overrides: options.gates.HostnameOverride },
    hostResolver: () => readHostResolver(pods.resolvConf, ports.files),
    localNode: () => localNode.read(shutdown),
    hookUserAgent: userAgentOf("lifecycle", KUBERNETES_VERSION),
    security: {
      seccompDefault: pods.seccompDefault,
      seccompRoot: `${options.directories.root}/seccomp`,
      thermalPaths: await ports.machine.thermalPaths(),
    },
    userNamespaces: await userNamespaces(wiring),
    selinux: machine.selinux,
    stopSignals: options.gates.ContainerStopSignals,
    backoffCapMs: pods.restartBackoffMsMax,
    resyncMs: pods.syncEveryMs,
    resources,
    starts: new Semaphore(ports.clock, { max: STARTS_PER_CPU * machine.cpus, maxHoldMs: START_PATIENCE_MS }),
  };
}

const resourcePlan = async ({ options }: Wiring, cgroups: Cgroups, machine: MachineFacts) =>
  podResourcePlan({
    cgroupVersion: cgroups.version,
    cpuCfsQuota: options.cgroups.cpuQuota,
    cpuCfsQuotaPeriodUs: options.cgroups.cpuQuotaPeriodMs * 1000,
    podPidsLimit: options.cgroups.podPidsMax,
    hugepageSizes: hugepageSizesOf(machine),
    memoryCapacityBytes: machine.memoryBytes,
    singleProcessOomKill: options.cgroups.singleProcessOomKill,
    swap: await swapSettings(cgroups, machine.swapBytes, options.managers.limitedSwap),
    ...(options.cgroups.memoryQos && {
      memoryQos: { ...options.cgroups.memoryQos, allocatableBytes: allocatableMemoryBytes(machine, options) },
    }),
  });

/** Fails startup if the subordinate ID range is unusable, as the Go kubelet does. */
async function userNamespaces({ ports, options, cells }: Wiring): Promise<UserNamespaceAllocator> {
  const { podRuntimeStatus } = cells;
  const given = await ports.machine.subordinateIds("kubelet");
  const space = idSpace(given, options.pods.idsPerPod, options.node.podsMax);
  if (space.kind === "unusable") throw new Error(`create user namespace manager: ${space.message}`);
  return new UserNamespaceAllocator({
    files: ports.files,
    log: ports.logOf("pod-workers"),
    rootDir: options.directories.root,
    space,
    inRuntime: () =>
      podRuntimeStatus
        .keys()
        .flatMap((uid) => podRuntimeStatus.get(uid)?.sandboxes ?? [])
        .flatMap(({ namespaces }) => namespaces?.user?.uids ?? [])
        .map(({ hostId }) => hostId),
  });
}
