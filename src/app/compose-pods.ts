/** The loops that carry pods: where they come from, their workers, their published status, and what they leave behind. */
import { LatestCell } from "../concurrency/latest-cell.ts";
import { Turnstile } from "../concurrency/turnstile.ts";
import { collectContainers } from "../controllers/housekeeping/container-gc.ts";
import { removeLeftovers } from "../controllers/housekeeping/leftovers.ts";
import { ImagePulls } from "../controllers/images/pulls.ts";
import { runApiSource } from "../controllers/pod-sources/api-source.ts";
import { runFileSource } from "../controllers/pod-sources/file-source.ts";
import { StaticPodNamer } from "../controllers/pod-sources/manifests.ts";
import { runUrlSource } from "../controllers/pod-sources/url-source.ts";
import { checkResolverFile, readHostResolver } from "../controllers/pod-workers/host-resolver.ts";
import { PodWorkers } from "../controllers/pod-workers/pod-workers.ts";
import type { PodLooks } from "../controllers/pod-workers/worker-options.ts";
import { hugepageSizesOf } from "../controllers/resources/node-groups.ts";
import { runMirrorPods } from "../controllers/status/mirror-pods.ts";
import { StatusPublisher } from "../controllers/status/status.ts";
import { VolumeLoop } from "../controllers/volumes/volumes.ts";
import type { UidFacts } from "../domain/journal/facts.ts";
import type { SourceState } from "../domain/pod/desired-pod.ts";
import type { PodSource } from "../domain/pod/pod-identity.ts";
import type { StaticPodFact } from "../domain/pod/static-pod-uid.ts";
import { KUBEPODS, podParents } from "../domain/resources/cgroup-name.ts";
import { podResourcePlan } from "../domain/resources/pod-resource-plan.ts";
import { podQosClass } from "../domain/resources/qos-class.ts";
import type { Journal } from "../ports/journal.ts";
import type { Loop, Wiring } from "./compose.ts";
import { localNode } from "./compose-node.ts";

/**
 * More pods in the making at once than this wait for each other's processes: on two CPUs the middle one of a burst of 100 came after half of the time,
 * the last one no later.
 */
const STARTS_PER_CPU = 4;
const START_PATIENCE_MS = 5_000;
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
              runtimeName: () => runtimeName(wiring),
            }).run(shutdown),
          (shutdown) => runMirrorPods({ ...ports, ...cells, api: api.main, log: ports.logOf("status") }, shutdown),
        ];
  const resolver = {
    path: options.pods.resolvConf,
    clusterDomain: options.pods.clusterDomain,
    nodeName: options.node.name,
  };
  return [
    ...publishing,
    (shutdown) => volumeLoop(wiring, parts, shutdown).run(shutdown),
    () => checkResolverFile(resolver, { ...ports, events: wiring.events }),
    async (shutdown) => {
      const cgroups = await known(cells.cgroups, shutdown);
      if (cgroups === undefined) return;
      await whenTrue(cells.tiersReady, shutdown);
      if (shutdown.aborted) return;
      const pulls = imagePulls(wiring);
      const worker = await makeWorkers(wiring, cgroups.pods, { ...parts, pulls }, folders, shutdown);
      const common = { ...ports, ...cells, ...folders, log: ports.logOf("housekeeping") };
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
  });
}

async function makeWorkers(
  wiring: Wiring,
  cgroups: NonNullable<Wiring["cells"]["cgroups"]["value"]>["pods"],
  { journal, facts, looks, pulls }: Parameters<typeof podLoops>[1] & { readonly pulls: ImagePulls },
  folders: { readonly rootDir: string; readonly podLogsDir: string; readonly containerLogLinks: string },
  shutdown: AbortSignal,
): Promise<PodWorkers> {
  const { ports, options, cells, events } = wiring;
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
    swapLimits: await cgroups.countsSwap(KUBEPODS),
  });
  return new PodWorkers(
    { ...ports, cgroups, journal, events, pulls, log: ports.logOf("pod-workers") },
    { ...cells, looks },
    {
      ...folders,
      nodeName: options.node.name,
      nodeIps: options.node.ips,
      clusterDns: pods.clusterDns,
      hostname: { clusterDomain: pods.clusterDomain, overrides: options.gates.HostnameOverride },
      hostResolver: () => readHostResolver(pods.resolvConf, ports.files),
      localNode: localNode(wiring, shutdown),
      seccompDefault: pods.seccompDefault,
      backoffCapMs: pods.restartBackoffMsMax,
      resyncMs: pods.syncEveryMs,
      resources,
      starts: new Turnstile(ports.clock, { most: STARTS_PER_CPU * machine.cpus, patienceMs: START_PATIENCE_MS }),
    },
    facts,
  );
}

const imagePulls = ({ ports, options, cells, events }: Wiring): ImagePulls =>
  new ImagePulls({
    ...ports,
    ...cells,
    events,
    log: ports.logOf("images"),
    limits: options.images.pulls,
    folders: { root: options.folders.root, working: options.images.workingFolder, home: options.images.homeFolder },
  });

const runtimeName = ({ cells }: Wiring): string =>
  cells.runtimeHealth.value.kind === "answered" ? cells.runtimeHealth.value.version.name : "";

/** The cell's value once it has one; undefined when the end comes first. */
async function known<T>(cell: LatestCell<T | undefined>, shutdown: AbortSignal): Promise<T | undefined> {
  while (cell.value === undefined && !shutdown.aborted) {
    await cell.changed(cell.version, shutdown).catch(() => undefined);
  }
  return cell.value;
}

async function whenTrue(cell: LatestCell<boolean>, shutdown: AbortSignal): Promise<void> {
  while (!cell.value && !shutdown.aborted) await cell.changed(cell.version, shutdown).catch(() => undefined);
}
