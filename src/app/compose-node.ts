/** Loops of the node itself: its registration, status, lease, cgroups, usage and pressure. */
import { assert } from "../base/assert.ts";
import { runOwnNode } from "../controllers/cluster-objects/own-node.ts";
import { runReferencedObjects } from "../controllers/cluster-objects/referenced-objects.ts";
import { runRuntimeClasses } from "../controllers/cluster-objects/runtime-classes.ts";
import { runServices } from "../controllers/cluster-objects/services.ts";
import { runImageList } from "../controllers/images/image-list.ts";
import { runCsiNode } from "../controllers/node/csi-node.ts";
import { type LeaseParts, runLease } from "../controllers/node/lease.ts";
import { LocalNode } from "../controllers/node/local-node.ts";
import { type NodeStatusParts, runNodeStatus } from "../controllers/node/node-status.ts";
import { runPodCidr, setPodCidr } from "../controllers/node/pod-cidr.ts";
import { type RegisterParts, runRegistration } from "../controllers/node/register.ts";
import { SnapshotReader } from "../controllers/node/snapshot.ts";
import { type CgroupDriverParts, learnCgroupDriver } from "../controllers/resources/cgroup-driver.ts";
import type { Enforcement, NodeGroupSettings } from "../controllers/resources/node-groups.ts";
import { ResourcesController } from "../controllers/resources/resources.ts";
import { type NodeUsageParts, runNodeUsage } from "../controllers/stats/node-usage.ts";
import { evictionThresholds } from "../domain/eviction/thresholds.ts";
import { parseCgroupPath } from "../domain/resources/cgroup-name.ts";
import type { Journal } from "../ports/journal.ts";
import { evictionLoop } from "./compose-eviction.ts";
import { nodeOptions, registrationOf, reservationsOf } from "./node-options.ts";
import type { ApiPorts, Loop, Wiring } from "./wiring.ts";

export function nodeLoops(wiring: Wiring, journal: Journal): readonly Loop[] {
  return [
    (shutdown) => learnCgroupDriver(cgroupDriverParts(wiring), shutdown),
    (shutdown) => resourcesOf(wiring).run(shutdown),
    (shutdown) => runNodeUsage(nodeUsageParts(wiring), shutdown),
    (shutdown) => evictionLoop(wiring, journal).run(shutdown),
    (shutdown) => runImageList(imageListParts(wiring), shutdown),
    ...(wiring.ports.api === undefined ? standaloneLoops(wiring) : clusterLoops(wiring, wiring.ports.api)),
  ];
}

/** The Kubernetes version from which a runtime must report its cgroup driver. */
const TOO_OLD_FOR = "1.37.0";

const cgroupDriverParts = ({ ports, options, cells, metrics }: Wiring): CgroupDriverParts => ({
  runtime: ports.runtime,
  clock: ports.clock,
  log: ports.logOf("resources"),
  cgroupsOf: ports.cgroups,
  configured: options.cgroups.driver,
  perQos: options.cgroups.perQos,
  onConfigured: () => metrics.runtime.losingSupport.set(1, TOO_OLD_FOR),
  runtimeHealth: cells.runtimeHealth,
  cgroups: cells.cgroups,
});

const imageListParts = ({ ports, cells, watched }: Wiring): Parameters<typeof runImageList>[0] => ({
  images: ports.images,
  clock: ports.clock,
  nodeImages: cells.nodeImages,
  log: ports.logOf("images"),
  heartbeat: watched.imageList,
});

function resourcesOf({ ports, options, cells, events, watched }: Wiring): ResourcesController {
  const { qosReservedMemory } = options.cgroups;
  const settings: NodeGroupSettings = {
    nodeName: options.node.name,
    cgroupRoot: parseCgroupPath(options.cgroups.root),
    reservations: reservationsOf(options),
    enforce: options.cgroups.enforced as ReadonlySet<Enforcement>,
    systemReservedCgroup: options.reserved.systemCgroup,
    kubeReservedCgroup: options.reserved.kubeCgroup,
    // The cgroups above pods are not throttled (no memory.high), so allocatable memory does not matter for them.
    ...(options.cgroups.memoryQos && { memoryQos: { ...options.cgroups.memoryQos, allocatableBytes: 0n } }),
    ...(qosReservedMemory !== undefined && { qosReservedMemory }),
  };
  const log = ports.logOf("resources");
  const { clock, machine } = ports;
  const { cgroups, admittedPods, qosCgroups } = cells;
  const heartbeat = watched.nodeGroups;
  return new ResourcesController({
    clock,
    machine,
    cgroups,
    admittedPods,
    qosCgroups,
    events,
    log,
    settings,
    heartbeat,
    misconfigurationIsFatal: options.compatibility.misconfigurationIsFatal,
  });
}

const nodeUsageParts = ({ ports, options, cells, watched }: Wiring): NodeUsageParts => ({
  machine: ports.machine,
  images: ports.images,
  clock: ports.clock,
  log: ports.logOf("stats"),
  cgroups: cells.cgroups,
  nodeUsage: cells.nodeUsage,
  heartbeat: watched.nodeUsage,
  rootDirectory: options.directories.root,
  signals: new Set(thresholdsOf(options).map(({ signal }) => signal)),
  needsLayout: options.node.localStorage,
  thresholds: thresholdsOf(options),
  reclaimed: [cells.imagesReclaimed, cells.containersReclaimed],
  memorySignal: options.eviction.memorySignal,
});

const thresholdsOf = ({ eviction, cgroups }: Wiring["options"]) =>
  evictionThresholds(eviction, { enforcesPods: cgroups.enforced.has("pods"), layout: "shared" });

/** Without an API server there are no Services, no RuntimeClasses and no other objects that a pod may reference. */
function standaloneLoops({ ports, options, cells }: Wiring): readonly Loop[] {
  const { clock, random, runtime } = ports;
  const { services, runtimeClasses, admittedPods, referencedObjects } = cells;
  return [
    async () => services.set(new Map()),
    async () => runtimeClasses.set(new Map()),
    (shutdown) => runReferencedObjects({ api: undefined, clock, random, admittedPods, referencedObjects }, shutdown),
    (shutdown) => setPodCidr(options.node.podCidr, { runtime, clock, log: ports.logOf("node") }, shutdown),
  ];
}

/** Reads the facts about this machine that the Node reports. */
const snapshotReader = ({ ports, options, cells }: Wiring): SnapshotReader =>
  new SnapshotReader({
    machine: ports.machine,
    clock: ports.clock,
    log: ports.logOf("node"),
    runtimeHealth: cells.runtimeHealth,
    pressure: cells.pressure,
    nodeImages: cells.nodeImages,
    volumesInUse: cells.volumesInUse,
    nodeNotReadyReasons: cells.nodeNotReadyReasons,
    qosCgroups: cells.qosCgroups,
    rootDirectory: options.directories.root,
    options: nodeOptions(options),
  });

function clusterLoops(wiring: Wiring, api: ApiPorts): readonly Loop[] {
  const { ports, options, cells } = wiring;
  const { clock, random, runtime } = ports;
  const { ownNode, nodeNotReadyReasons, services, runtimeClasses, desiredPods, admittedPods, referencedObjects } =
    cells;
  const log = ports.logOf("node");
  const nodeName = options.node.name;
  const snapshots = snapshotReader(wiring);
  const objects = { api: api.main, clock, random, log: ports.logOf("cluster-objects") };
  return [
    (shutdown) => runOwnNode({ api: api.main, clock, random, log, ownNode, nodeName }, shutdown),
    (shutdown) => runCsiNode({ api: api.main, clock, log, ownNode, nodeNotReadyReasons, nodeName }, shutdown),
    (shutdown) => runServices({ ...objects, services }, shutdown),
    (shutdown) => runRuntimeClasses({ ...objects, desiredPods, runtimeClasses }, shutdown),
    (shutdown) => runReferencedObjects({ api: api.main, clock, random, admittedPods, referencedObjects }, shutdown),
    (shutdown) => runRegistration(registrationParts(wiring, api, snapshots), shutdown),
    ...heartbeatLoops(wiring, api, snapshots),
    (shutdown) => runPodCidr({ runtime, clock, log, ownNode }, shutdown),
  ];
}

const registrationParts = (
  { ports, options, cells, events, metrics }: Wiring,
  api: ApiPorts,
  snapshots: SnapshotReader,
): RegisterParts => ({
  api: api.main,
  clock: ports.clock,
  log: ports.logOf("node"),
  events,
  snapshots,
  runtimeHealth: cells.runtimeHealth,
  nodeRegistered: cells.nodeRegistered,
  options: nodeOptions(options),
  registerNode: options.node.register,
  registration: registrationOf(options),
  onAttempt: () => {
    metrics.node.startup.attemptWallMs ??= ports.clock.wallMs();
  },
});

/** Loops of the node's status and its lease. */
function heartbeatLoops(wiring: Wiring, api: ApiPorts, snapshots: SnapshotReader): readonly Loop[] {
  const { ports, options, cells, events, watched } = wiring;
  const { clock, random } = ports;
  const { ownNode, nodeRegistered, nodeSynced, nodeReport } = cells;
  const heartbeats = watched.api;
  assert(heartbeats !== undefined, "a node with an API server has heartbeats");
  const log = ports.logOf("node");
  // Heartbeats detect problems for all three clients: a hanging path to the server blocks each of them.
  const onRepeatedFailure = () => {
    log.info(1, "Heartbeats failed repeatedly; new requests use new connections");
    for (const client of [api.main, api.heartbeats, api.events]) client.renewConnections();
  };
  const status: NodeStatusParts = {
    api: api.heartbeats,
    clock,
    random,
    log,
    events,
    snapshots,
    ownNode,
    nodeRegistered,
    nodeSynced,
    nodeReport,
    options: nodeOptions(options),
    cgroups: { version: options.cgroups.version },
    cadence: { updateEveryMs: options.node.statusEveryMs, reportEveryMs: options.node.reportEveryMs },
    onRepeatedFailure,
    heartbeat: heartbeats.nodeStatus,
  };
  const lease: LeaseParts = {
    api: api.heartbeats,
    clock,
    random,
    log,
    ownNode,
    options: { nodeName: options.node.name, leaseDurationSeconds: options.node.leaseDurationSeconds },
    onRepeatedFailure,
    heartbeat: heartbeats.lease,
  };
  return [(shutdown) => runNodeStatus(status, shutdown), (shutdown) => runLease(lease, shutdown)];
}

export const localNodeOf = (wiring: Wiring): LocalNode =>
  new LocalNode({
    ownNode: wiring.cells.ownNode,
    snapshots: snapshotReader(wiring),
    registration: registrationOf(wiring.options),
    options: nodeOptions(wiring.options),
  });
