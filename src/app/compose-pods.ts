/** The loops that carry pods: where they come from, their workers, their published status, and what they leave behind. */
import { LatestCell } from "../concurrency/latest-cell.ts";
import { Turnstile } from "../concurrency/turnstile.ts";
import { Endings } from "../controllers/endings/endings.ts";
import { collectContainers } from "../controllers/housekeeping/container-gc.ts";
import { removeLeftovers } from "../controllers/housekeeping/leftovers.ts";
import { LogRotation } from "../controllers/housekeeping/log-rotation.ts";
import { ImagePulls } from "../controllers/images/pulls.ts";
import { runApiSource } from "../controllers/pod-sources/api-source.ts";
import { runFileSource } from "../controllers/pod-sources/file-source.ts";
import { StaticPodNamer } from "../controllers/pod-sources/manifests.ts";
import { runUrlSource } from "../controllers/pod-sources/url-source.ts";
import { checkResolverFile, readHostResolver } from "../controllers/pod-workers/host-resolver.ts";
import { PodWorkers } from "../controllers/pod-workers/pod-workers.ts";
import { UserRanges } from "../controllers/pod-workers/user-ranges.ts";
import type { PodLooks } from "../controllers/pod-workers/worker-options.ts";
import { ProbeLoop } from "../controllers/probes/probes.ts";
import { hugepageSizesOf } from "../controllers/resources/node-groups.ts";
import { runMirrorPods } from "../controllers/status/mirror-pods.ts";
import { StatusPublisher } from "../controllers/status/status.ts";
import { VolumeLoop } from "../controllers/volumes/volumes.ts";
import { warnOfSwap } from "../controllers/volumes/warn-of-swap.ts";
import type { UidFacts } from "../domain/journal/facts.ts";
import { mountsRecursivelyReadOnly, runtimeName } from "../domain/node/runtime-health.ts";
import type { SourceState } from "../domain/pod/desired-pod.ts";
import type { PodSource } from "../domain/pod/pod-identity.ts";
import type { StaticPodFact } from "../domain/pod/static-pod-uid.ts";
import { idSpace } from "../domain/pod/user-namespace.ts";
import { hostAddresses, podAddresses } from "../domain/pod-status/addresses.ts";
import { userAgentOf } from "../domain/probes/http-get.ts";
import { KUBEPODS, podParents } from "../domain/resources/cgroup-name.ts";
import { podResourcePlan } from "../domain/resources/pod-resource-plan.ts";
import { podQosClass } from "../domain/resources/qos-class.ts";
import type { SwapSettings } from "../domain/resources/swap.ts";
import type { Cgroups } from "../ports/cgroups.ts";
import type { EventSink } from "../ports/event-sink.ts";
import type { Journal } from "../ports/journal.ts";
import type { MachineFacts } from "../ports/machine.ts";
import type { Loop, Wiring } from "./compose.ts";
import { allocatableMemoryBytes, localNode } from "./compose-node.ts";
import { KUBERNETES_VERSION } from "./version.ts";

/**
 * More pods in the making at once than this wait for each other's processes: on two CPUs the middle one of a burst of 100 came after half of the time,
 * the last one no later.
 */
const STARTS_PER_CPU = 4;
const START_PATIENCE_MS = 5_000;
/** A disk that takes longer over one log than this is not waited for by the others. */
const COMPRESSION_PATIENCE_MS = 60_000;
/** Where log agents look for containers; the same on every node. */
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
  const namer = new StaticPodNamer({ ...ports, journal }, staticFacts, () => ({
    sandboxes: cells.listedSandboxes.value,
    mirrors: cells.desiredPods.value.mirrors,
  }));
  const common = { ...ports, log, namer, runtimeListed: cells.listedSandboxes };
  const { staticFolder, staticUrl } = options.pods;
  if (staticFolder !== undefined) {
    const { path, everyMs } = staticFolder;
    add("file", (state, shutdown) =>
      runFileSource({ path, checkEveryMs: everyMs, nodeName }, { ...common, state }, shutdown),
    );
  }
  if (staticUrl !== undefined) {
    const settings = { ...staticUrl, checkEveryMs: staticUrl.everyMs, nodeName };
    add("http", (state, shutdown) => runUrlSource(settings, { ...common, state }, shutdown));
  }
  const { api } = ports;
  if (api !== undefined) {
    add("api", (state, shutdown) =>
      runApiSource({ ...ports, ...cells, api: api.main, log, state, nodeName }, shutdown),
    );
  }
  return { states, loops };
}

export function podLoops(
  wiring: Wiring,
  parts: {
    readonly journal: Journal;
    readonly facts: ReadonlyMap<string, UidFacts>;
    readonly looks: PodLooks;
    readonly asides: EventSink;
  },
): readonly Loop[] {
  const { ports, options, cells } = wiring;
  const { api } = ports;
  const folders = {
    rootDir: options.folders.root,
    podLogsDir: options.folders.podLogs,
    containerLogLinks: CONTAINER_LOG_LINKS,
  };
  const publishing: readonly Loop[] =
    api === undefined
      ? []
      : [
          (shutdown) =>
            new StatusPublisher({
              ...ports,
              ...cells,
              api: api.main,
              log: ports.logOf("status"),
              qosClass: podQosClass,
              runtimeName: () => runtimeName(cells.runtimeHealth.value),
              recursiveReadOnly: (handler) => mountsRecursivelyReadOnly(cells.runtimeHealth.value, handler),
              stopSignals: options.gates.ContainerStopSignals,
              podMetrics: wiring.metrics.pods,
              queue: wiring.metrics.queue("pod_status"),
            }).run(shutdown),
          (shutdown) => runMirrorPods({ ...ports, ...cells, api: api.main, log: ports.logOf("status") }, shutdown),
        ];
  const resolver = {
    path: options.pods.resolvConf,
    clusterDomain: options.pods.clusterDomain,
    nodeName: options.node.name,
  };
  // Made at once: what was known of the containers stands from the start.
  const probes = probeLoop(wiring, parts);
  return [
    ...publishing,
    (shutdown) =>
      new Endings({
        ...ports,
        ...cells,
        journal: parts.journal,
        events: wiring.events,
        log: ports.logOf("endings"),
      }).run(shutdown),
    (shutdown) => probes.run(shutdown, addressOf(wiring, shutdown)),
    (shutdown) => volumeLoop(wiring, parts, shutdown).run(shutdown),
    () => checkResolverFile(resolver, { ...ports, events: wiring.events }),
    () => warnOfSwap(options.node.name, { ...ports, events: wiring.events }),
    ...logRotation(wiring),
    async (shutdown) => {
      const cgroups = await known(cells.cgroups, shutdown);
      if (cgroups === undefined) return;
      await tiersThere(cells, shutdown);
      if (shutdown.aborted) return;
      const pulls = imagePulls(wiring);
      const worker = await makeWorkers(wiring, cgroups.pods, { ...parts, pulls }, folders, shutdown);
      const common = {
        ...ports,
        ...cells,
        ...folders,
        podMetrics: wiring.metrics.pods,
        log: ports.logOf("housekeeping"),
      };
      await Promise.all([
        worker.run(shutdown),
        pulls.run(shutdown),
        collectContainers(
          {
            ...common,
            nodeName: options.node.name,
            events: wiring.events,
            look: (uid, signal) => parts.looks.look(uid, signal),
          },
          shutdown,
        ),
        removeLeftovers({ ...common, cgroups: cgroups.pods, podParents }, shutdown),
      ]);
    },
  ];
}

function logRotation({ ports, options, cells }: Wiring): readonly Loop[] {
  const { containerLogs: limits } = options;
  if (limits.kind === "unlimited") return [];
  const log = ports.logOf("housekeeping");
  const workers = new Turnstile(ports.clock, { most: limits.workersMax, patienceMs: COMPRESSION_PATIENCE_MS });
  return [(shutdown) => new LogRotation({ ...ports, ...cells, log, policy: limits, workers }).run(shutdown)];
}

function volumeLoop(
  wiring: Wiring,
  { journal, facts }: Parameters<typeof podLoops>[1],
  shutdown: AbortSignal,
): VolumeLoop {
  const { ports, options, cells, events } = wiring;
  return new VolumeLoop({
    ...cells,
    ports: { ...ports, api: ports.api?.main, journal, events, log: ports.logOf("volumes") },
    localNode: localNode(wiring, shutdown),
    facts,
    rootDir: options.folders.root,
    nodeName: options.node.name,
    volumeMetrics: wiring.metrics.volumes,
    queue: wiring.metrics.queue("pod_volumes"),
  });
}

function probeLoop(wiring: Wiring, { journal, facts }: Parameters<typeof podLoops>[1]): ProbeLoop {
  const { ports, cells, events, metrics } = wiring;
  return new ProbeLoop({
    ...ports,
    ...cells,
    journal,
    events,
    facts,
    log: ports.logOf("probes"),
    metrics: metrics.probes,
    cpus: async () => (await ports.machine.facts()).cpus,
    userAgent: userAgentOf("probe", KUBERNETES_VERSION),
  });
}

/** Where a pod is asked. One on the node's network is asked there, also by a node that nobody has registered. */
function addressOf(wiring: Wiring, shutdown: AbortSignal): Parameters<ProbeLoop["run"]>[1] {
  const node = localNode(wiring, shutdown);
  return async (pod, { view }) => {
    const { status } = await node();
    const published = (pod.status?.podIPs ?? []).map(({ ip }) => ip);
    return podAddresses(pod, published, hostAddresses(status?.addresses ?? []), view.sandboxes[0]?.ips ?? [])[0];
  };
}

/** On v1 the kernel counts swap and memory together, and pods get none. */
async function swapSettings(
  { options }: Wiring,
  cgroups: Pick<Cgroups, "countsSwap">,
  { swapBytes }: MachineFacts,
): Promise<SwapSettings> {
  if (!(await cgroups.countsSwap(KUBEPODS))) return { kind: "uncounted" };
  return options.managers.limitedSwap ? { kind: "limited", capacityBytes: swapBytes } : { kind: "none" };
}

async function makeWorkers(
  wiring: Wiring,
  cgroups: NonNullable<Wiring["cells"]["cgroups"]["value"]>["pods"],
  { journal, facts, looks, asides, pulls }: Parameters<typeof podLoops>[1] & { readonly pulls: ImagePulls },
  folders: { readonly rootDir: string; readonly podLogsDir: string; readonly containerLogLinks: string },
  shutdown: AbortSignal,
): Promise<PodWorkers> {
  const { ports, options, cells, events, metrics } = wiring;
  const machine = await ports.machine.facts();
  const { pods } = options;
  const resources = podResourcePlan({
    cgroupVersion: cgroups.version,
    cpuCfsQuota: options.cgroups.cpuQuota,
    cpuCfsQuotaPeriodUs: options.cgroups.cpuQuotaPeriodMs * 1000,
    podPidsLimit: options.cgroups.podPidsMax,
    hugepageSizes: hugepageSizesOf(machine),
    memoryCapacityBytes: machine.memoryBytes,
    singleProcessOomKill: options.cgroups.singleProcessOomKill,
    swap: await swapSettings(wiring, cgroups, machine),
    ...(options.cgroups.memoryQos && {
      memoryQos: { ...options.cgroups.memoryQos, allocatableBytes: allocatableMemoryBytes(machine, options) },
    }),
  });
  return new PodWorkers(
    {
      ...ports,
      cgroups,
      journal,
      events,
      asides,
      pulls,
      podMetrics: metrics.pods,
      imageMetrics: metrics.images,
      resizeMetrics: metrics.resizes,
      queue: metrics.queue("pod_workers"),
      log: ports.logOf("pod-workers"),
    },
    { ...cells, looks },
    {
      ...folders,
      nodeName: options.node.name,
      nodeIps: options.node.ips,
      clusterDns: pods.clusterDns,
      hostname: { clusterDomain: pods.clusterDomain, overrides: options.gates.HostnameOverride },
      hostResolver: () => readHostResolver(pods.resolvConf, ports.files),
      localNode: localNode(wiring, shutdown),
      hookUserAgent: userAgentOf("lifecycle", KUBERNETES_VERSION),
      security: {
        seccompDefault: pods.seccompDefault,
        seccompRoot: `${options.folders.root}/seccomp`,
        thermalPaths: await ports.machine.thermalPaths(),
      },
      userRanges: await userRanges(wiring),
      selinux: machine.selinux,
      stopSignals: options.gates.ContainerStopSignals,
      backoffCapMs: pods.restartBackoffMsMax,
      resyncMs: pods.syncEveryMs,
      resources,
      starts: new Turnstile(ports.clock, { most: STARTS_PER_CPU * machine.cpus, patienceMs: START_PATIENCE_MS }),
    },
    facts,
  );
}

/** Whose operator gives it numbers that cannot be used does not start, as with the Go kubelet. */
async function userRanges({ ports, options, cells }: Wiring): Promise<UserRanges> {
  const { podRuntimeStatus } = cells;
  const given = await ports.machine.subordinateIds("kubelet");
  const space = idSpace(given, options.pods.idsPerPod, options.node.podsMax);
  if (space.kind === "unusable") throw new Error(`create user namespace manager: ${space.message}`);
  return new UserRanges({
    ...ports,
    log: ports.logOf("pod-workers"),
    rootDir: options.folders.root,
    space,
    inRuntime: () =>
      podRuntimeStatus
        .keys()
        .flatMap((uid) => podRuntimeStatus.get(uid)?.sandboxes ?? [])
        .flatMap(({ namespaces }) => namespaces?.user?.uids ?? [])
        .map(({ hostId }) => hostId),
  });
}

const imagePulls = ({ ports, options, cells, events, metrics }: Wiring): ImagePulls =>
  new ImagePulls({
    ...ports,
    ...cells,
    events,
    log: ports.logOf("images"),
    imageMetrics: metrics.images,
    limits: options.images.pulls,
    folders: { root: options.folders.root, working: options.images.workingFolder, home: options.images.homeFolder },
  });

/** The cell's value once it has one; undefined when the end comes first. */
async function known<T>(cell: LatestCell<T | undefined>, shutdown: AbortSignal): Promise<T | undefined> {
  while (cell.value === undefined && !shutdown.aborted) {
    await cell.changed(cell.version, shutdown).catch(() => undefined);
  }
  return cell.value;
}

async function tiersThere({ tiers }: Pick<Wiring["cells"], "tiers">, shutdown: AbortSignal): Promise<void> {
  while (tiers.value.kind !== "ready" && !shutdown.aborted) {
    await tiers.changed(tiers.version, shutdown).catch(() => undefined);
  }
}
