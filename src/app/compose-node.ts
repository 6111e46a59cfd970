/** The loops of the node itself: its registration, status and lease, its cgroups, and how full it is. */

import type { Node } from "../api/gen/core-v1.ts";
import { assert } from "../base/assert.ts";
import { parseIp } from "../base/ip-address.ts";
import { formatQuantity, parseQuantity, type Quantity, quantityValue, wholeQuantity } from "../base/quantity.ts";
import { runOwnNode } from "../controllers/cluster-objects/own-node.ts";
import { runReferencedObjects } from "../controllers/cluster-objects/referenced-objects.ts";
import { runRuntimeClasses } from "../controllers/cluster-objects/runtime-classes.ts";
import { runServices } from "../controllers/cluster-objects/services.ts";
import { runPressure } from "../controllers/eviction/pressure.ts";
import { runImageList } from "../controllers/images/image-list.ts";
import { runCsiNode } from "../controllers/node/csi-node.ts";
import { runLease } from "../controllers/node/lease.ts";
import { runNodeStatus } from "../controllers/node/node-status.ts";
import { givePodCidr, runPodCidr } from "../controllers/node/pod-cidr.ts";
import { runRegistration } from "../controllers/node/register.ts";
import { SnapshotReader } from "../controllers/node/snapshot.ts";
import { requireRoot, settleCgroupDriver } from "../controllers/resources/cgroup-driver.ts";
import type { Enforcement, NodeGroupSettings } from "../controllers/resources/node-groups.ts";
import { ResourcesController } from "../controllers/resources/resources.ts";
import { type MachineSize, machineCapacity } from "../domain/node/capacity.ts";
import { initialNode } from "../domain/node/initial-node.ts";
import { type NodeOptions, updatedNode } from "../domain/node/node-status.ts";
import type { Threshold } from "../domain/node/pressure.ts";
import { parseCgroupPath } from "../domain/resources/cgroup-name.ts";
import { nodeAllocatable, type Reservations, type ThresholdValue } from "../domain/resources/node-allocatable.ts";
import { parseResourceList, type ResourceList } from "../domain/resources/resource-list.ts";
import type { Loop, Wiring } from "./compose.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import { KUBERNETES_VERSION } from "./version.ts";

export function nodeLoops(wiring: Wiring): readonly Loop[] {
  return [
    (shutdown) => learnCgroupDriver(wiring, shutdown),
    (shutdown) => resourcesOf(wiring).run(shutdown),
    (shutdown) => runPressure(pressureParts(wiring), shutdown),
    (shutdown) => runImageList(imageListParts(wiring), shutdown),
    ...(wiring.ports.api === undefined ? standaloneLoops(wiring) : clusterLoops(wiring, wiring.ports.api)),
  ];
}

/** Of Kubernetes: from this one on a runtime must say which cgroup driver it uses. */
const TOO_OLD_FOR = "1.37.0";

/** The second stage begins here: the runtime has been ready once, and says which cgroup driver it uses. */
async function learnCgroupDriver({ ports, options, cells, metrics }: Wiring, shutdown: AbortSignal): Promise<void> {
  const { runtimeHealth } = cells;
  const isReady = () => runtimeHealth.value.kind === "answered" && runtimeHealth.value.readiness !== "unseen";
  try {
    while (!isReady()) await runtimeHealth.changed(runtimeHealth.version, shutdown);
    const parts = { ...ports, log: ports.logOf("resources") };
    for (;;) {
      const settled = await settleCgroupDriver(options.cgroups.driver, parts, shutdown);
      if (settled.kind === "configured") metrics.runtime.losingSupport.set(1, TOO_OLD_FOR);
      if (settled.kind !== "noAnswer") {
        const cgroups = ports.cgroups(settled.driver);
        if (options.cgroups.perQos) await requireRoot(cgroups.pods);
        cells.cgroups.set(cgroups);
        return;
      }
      // A runtime that was ready and is gone again comes back; without its word no pod can be placed.
      parts.log.error("the runtime does not say which cgroup driver it uses", settled.error);
    }
  } catch (error) {
    if (!shutdown.aborted) throw error;
  }
}

const imageListParts = ({ ports, cells, watches }: Wiring): Parameters<typeof runImageList>[0] => ({
  ...ports,
  ...cells,
  log: ports.logOf("images"),
  watch: watches.imageList,
});

function resourcesOf({ ports, options, cells, events, watches }: Wiring): ResourcesController {
  const settings: NodeGroupSettings = {
    nodeName: options.node.name,
    cgroupRoot: parseCgroupPath(options.cgroups.root),
    reservations: reservationsOf(options),
    enforce: options.cgroups.enforced as ReadonlySet<Enforcement>,
    systemReservedCgroup: options.reserved.systemCgroup,
    kubeReservedCgroup: options.reserved.kubeCgroup,
    // The groups above pods are not slowed down: what the node has to give does not matter to them.
    ...(options.cgroups.memoryQos && { memoryQos: { ...options.cgroups.memoryQos, allocatableBytes: 0n } }),
  };
  const log = ports.logOf("resources");
  return new ResourcesController({ ...ports, ...cells, events, log, settings, watch: watches.nodeGroups });
}

function pressureParts({ ports, options, cells, watches }: Wiring): Parameters<typeof runPressure>[0] {
  return {
    ...ports,
    ...cells,
    log: ports.logOf("eviction"),
    watch: watches.pressure,
    options: {
      rootFolder: options.folders.root,
      imageFolderEveryMs: 600_000,
      thresholds: options.eviction.hard.filter(isMeasured),
      enforcesPods: options.cgroups.enforced.has("pods"),
      holdMs: options.eviction.conditionHoldMs,
    },
  };
}

/** Thresholds of the containers' own file system are derived from the others, whatever an operator says. */
const isMeasured = (threshold: HardThreshold): threshold is HardThreshold & Threshold =>
  threshold.signal !== "containerfs.available" && threshold.signal !== "containerfs.inodesFree";

/** Without an API server there are no Services and no RuntimeClasses, and nothing else that a pod may name. */
const standaloneLoops = ({ ports, options, cells }: Wiring): readonly Loop[] => [
  async () => cells.services.set(new Map()),
  async () => cells.runtimeClasses.set(new Map()),
  (shutdown) => runReferencedObjects({ ...ports, ...cells, api: undefined }, shutdown),
  (shutdown) => givePodCidr(options.node.podCidr, { ...ports, log: ports.logOf("node") }, shutdown),
];

function clusterLoops(
  { ports, options, cells, events, metrics, watches }: Wiring,
  api: NonNullable<Wiring["ports"]["api"]>,
): readonly Loop[] {
  const { heartbeats } = watches;
  assert(heartbeats !== undefined, "a node with an API server has heartbeats");
  const log = ports.logOf("node");
  const node = nodeOptions(options);
  const nodeName = node.name;
  const snapshots = new SnapshotReader({ ...ports, ...cells, log, rootFolder: options.folders.root, options: node });
  // Heartbeats are the canary of all three: what hangs between us and the server hangs for each.
  const onRepeatedFailure = () => {
    log.info(1, "Heartbeats fail repeatedly; new requests go over new connections");
    for (const client of [api.main, api.heartbeats, api.events]) client.renewConnections();
  };
  const common = { ...ports, ...cells, events, log, snapshots, options: node };
  return [
    (shutdown) => runOwnNode({ ...common, api: api.main, nodeName }, shutdown),
    (shutdown) => runCsiNode({ ...common, api: api.main, nodeName }, shutdown),
    (shutdown) => runServices({ ...ports, ...cells, api: api.main, log: ports.logOf("cluster-objects") }, shutdown),
    (shutdown) =>
      runRuntimeClasses({ ...ports, ...cells, api: api.main, log: ports.logOf("cluster-objects") }, shutdown),
    (shutdown) => runReferencedObjects({ ...ports, ...cells, api: api.main }, shutdown),
    (shutdown) =>
      runRegistration(
        {
          ...common,
          api: api.main,
          registerNode: options.node.register,
          registration: registrationOf(options),
          onAttempt: () => {
            metrics.node.startup.attemptWallMs ??= ports.clock.wallMs();
          },
        },
        shutdown,
      ),
    (shutdown) =>
      runNodeStatus(
        {
          ...common,
          api: api.heartbeats,
          cgroups: { version: options.cgroups.version },
          cadence: { updateEveryMs: options.node.statusEveryMs, reportEveryMs: options.node.reportEveryMs },
          onRepeatedFailure,
          watch: heartbeats.nodeStatus,
        },
        shutdown,
      ),
    (shutdown) =>
      runLease(
        {
          ...common,
          api: api.heartbeats,
          options: { nodeName, leaseDurationSeconds: options.node.leaseDurationSeconds },
          onRepeatedFailure,
          watch: heartbeats.lease,
        },
        shutdown,
      ),
    (shutdown) => runPodCidr(common, shutdown),
  ];
}

/** Our Node as the API server has it; while it has none, or there is no server, as we would write it, read once. */
export function localNode({ ports, options, cells }: Wiring, shutdown: AbortSignal): () => Promise<Node> {
  const node = nodeOptions(options);
  const log = ports.logOf("node");
  const reader = new SnapshotReader({ ...ports, ...cells, log, rootFolder: options.folders.root, options: node });
  let unwritten: Promise<Node> | undefined;
  const make = async () => updatedNode({}, await reader.read(undefined, shutdown), node).node;
  return async () => {
    const own = cells.ownNode.value;
    if (own.kind === "present") return own.node;
    unwritten ??= make();
    return unwritten;
  };
}

/** Our Node as it would first be written. */
export function unwrittenNode({ ports, options, cells }: Wiring): (signal: AbortSignal) => Promise<Node> {
  const node = nodeOptions(options);
  const log = ports.logOf("node");
  const reader = new SnapshotReader({ ...ports, ...cells, log, rootFolder: options.folders.root, options: node });
  return async (signal) => initialNode(registrationOf(options), await reader.read(undefined, signal), node).node;
}

const registrationOf = ({ node }: CompiledOptions) => ({
  labels: node.labels,
  taints: node.taints.map(({ timeAdded, ...taint }) => ({
    ...taint,
    ...(timeAdded === undefined ? {} : { timeAdded }),
  })),
  providerId: node.providerId,
  controllerAttach: node.controllerAttach,
  resetExtendedResources: false,
});

function nodeOptions(options: CompiledOptions): NodeOptions {
  const { node } = options;
  return {
    name: node.name,
    hostname: node.name,
    nodeIps: node.ips.map((text) => parseIp(text)).filter((ip) => ip !== undefined),
    externalCloud: node.externalCloud,
    maxPods: node.podsMax,
    podsPerCore: node.podsPerCore,
    kubeletVersion: KUBERNETES_VERSION,
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    kubeletPort: options.server.port,
    imagesMax: node.imagesMax,
    localStorage: node.localStorage,
    featureGates: options.gates,
    allocatableOf: (capacity) => allocatableOf(capacity, options),
  };
}

/** What of the machine's memory is for pods. */
export function allocatableMemoryBytes(machine: MachineSize, options: CompiledOptions): bigint {
  const amounts = allocatableOf(machineCapacity(machine, undefined, nodeOptions(options)), options);
  return quantityValue(parseQuantity(amounts["memory"] ?? "0"));
}

function allocatableOf(
  capacity: Readonly<Record<string, string>>,
  options: CompiledOptions,
): Readonly<Record<string, string>> {
  const { hard, outOfAllocatable } = options.eviction;
  const thresholds = new Map<string, ThresholdValue>();
  if (outOfAllocatable) for (const { signal, value } of hard) thresholds.set(signal, thresholdValue(value));
  const allocatable = nodeAllocatable(parseResourceList(capacity), reservationsOf(options), thresholds);
  return Object.fromEntries([...allocatable].map(([name, quantity]) => [name, formatQuantity(quantity)]));
}

type HardThreshold = CompiledOptions["eviction"]["hard"][number];

const thresholdValue = (value: HardThreshold["value"]): ThresholdValue =>
  value.kind === "share"
    ? { kind: "fraction", fraction: value.share }
    : { kind: "quantity", quantity: wholeQuantity(value.amount, "BinarySI") };

function reservationsOf({ reserved }: CompiledOptions): Reservations {
  const list = (amounts: Readonly<Record<string, Quantity>>): ResourceList => new Map(Object.entries(amounts));
  return { kubeReserved: list(reserved.kube), systemReserved: list(reserved.system) };
}
