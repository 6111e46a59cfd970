/** The loops of the node itself: its registration, status and lease, its cgroups, and how full it is. */
import { sleep } from "../concurrency/sleep.ts";
import { runOwnNode } from "../controllers/cluster-objects/own-node.ts";
import { runPressure } from "../controllers/eviction/pressure.ts";
import { runImageList } from "../controllers/images/image-list.ts";
import { runLease } from "../controllers/node/lease.ts";
import { runNodeStatus } from "../controllers/node/node-status.ts";
import { runPodCidr } from "../controllers/node/pod-cidr.ts";
import { runRegistration } from "../controllers/node/register.ts";
import { SnapshotReader } from "../controllers/node/snapshot.ts";
import type { Enforcement, NodeGroupSettings } from "../controllers/resources/node-groups.ts";
import { ResourcesController } from "../controllers/resources/resources.ts";
import type { NodeOptions } from "../domain/node/node-status.ts";
import { parseCgroupPath } from "../domain/resources/cgroup-name.ts";
import { nodeAllocatable, type Reservations } from "../domain/resources/node-allocatable.ts";
import { parseResourceList, type ResourceList } from "../domain/resources/resource-list.ts";
import { formatQuantity, type Quantity, wholeQuantity } from "../base/quantity.ts";
import { isRuntimeError } from "../ports/runtime-error.ts";
import type { Loop, Wiring } from "./compose.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import { parseNodeIp } from "./options/node-ips.ts";
import { KUBERNETES_VERSION } from "./version.ts";

export function nodeLoops(wiring: Wiring): readonly Loop[] {
  return [
    (shutdown) => learnCgroupDriver(wiring, shutdown),
    (shutdown) => resourcesOf(wiring).run(shutdown),
    (shutdown) => runPressure(pressureParts(wiring), shutdown),
    (shutdown) => runImageList({ ...wiring.ports, ...wiring.cells, log: wiring.ports.logOf("images") }, shutdown),
    ...clusterLoops(wiring),
  ];
}

const DRIVER_TRIES = 3;
const DRIVER_RETRY_MS = 2_000;

/** The second stage begins here: the runtime has been ready once, and says which cgroup driver it uses. */
async function learnCgroupDriver({ ports, options, cells }: Wiring, shutdown: AbortSignal): Promise<void> {
  const { runtimeHealth } = cells;
  const isReady = () => runtimeHealth.value.kind === "answered" && runtimeHealth.value.lastReadyMs !== undefined;
  while (!isReady() && !shutdown.aborted) {
    await runtimeHealth.changed(runtimeHealth.version, shutdown).catch(() => undefined);
  }
  for (let tries = 1; !shutdown.aborted; tries += 1) {
    try {
      cells.cgroups.set(ports.cgroups(await ports.runtime.cgroupDriver(shutdown)));
      return;
    } catch (error) {
      if (shutdown.aborted) return;
      if (isRuntimeError(error, "unimplemented") || tries >= DRIVER_TRIES) {
        cells.cgroups.set(ports.cgroups(options.cgroups.driver));
        return;
      }
      await sleep(ports.clock, DRIVER_RETRY_MS, shutdown).catch(() => undefined);
    }
  }
}

function resourcesOf({ ports, options, cells, events }: Wiring): ResourcesController {
  const settings: NodeGroupSettings = {
    nodeName: options.node.name,
    cgroupRoot: parseCgroupPath(options.cgroups.root),
    reservations: reservationsOf(options),
    enforce: options.cgroups.enforced as ReadonlySet<Enforcement>,
    systemReservedCgroup: options.reserved.systemCgroup,
    kubeReservedCgroup: options.reserved.kubeCgroup,
  };
  return new ResourcesController({ ...ports, ...cells, events, log: ports.logOf("resources"), settings });
}

function pressureParts({ ports, options, cells }: Wiring): Parameters<typeof runPressure>[0] {
  return {
    ...ports,
    ...cells,
    log: ports.logOf("eviction"),
    options: {
      rootFolder: options.folders.root,
      imageFolderEveryMs: 600_000,
      thresholds: options.eviction.hard,
      holdMs: options.eviction.conditionHoldMs,
    },
  };
}

function clusterLoops({ ports, options, cells, events }: Wiring): readonly Loop[] {
  const { api } = ports;
  if (api === undefined) return [];
  const log = ports.logOf("node");
  const node = nodeOptions(options);
  const nodeName = node.name;
  const snapshots = new SnapshotReader({ ...ports, ...cells, log, rootFolder: options.folders.root, options: node });
  const onRepeatedFailure = () => log.info(1, "Heartbeats fail; the connection finds out by itself whether it is dead");
  const common = { ...ports, ...cells, events, log, snapshots, options: node };
  return [
    (shutdown) => runOwnNode({ ...common, api: api.main, nodeName }, shutdown),
    (shutdown) => runRegistration({ ...common, api: api.heartbeats, registerNode: options.node.register, registration: registrationOf(options) }, shutdown),
    (shutdown) =>
      runNodeStatus(
        {
          ...common,
          api: api.heartbeats,
          cgroups: { version: options.cgroups.version },
          cadence: { updateEveryMs: options.node.statusEveryMs, reportEveryMs: options.node.reportEveryMs },
          onRepeatedFailure,
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
        },
        shutdown,
      ),
    (shutdown) => runPodCidr(common, shutdown),
  ];
}

const registrationOf = ({ node }: CompiledOptions) => ({
  labels: node.labels,
  taints: node.taints,
  providerId: node.providerId,
  controllerAttach: true,
  resetExtendedResources: false,
});

function nodeOptions(options: CompiledOptions): NodeOptions {
  const { node } = options;
  return {
    name: node.name,
    hostname: node.name,
    nodeIps: node.ips.map(parseNodeIp),
    externalCloud: node.externalCloud,
    maxPods: node.podsMax,
    podsPerCore: node.podsPerCore,
    kubeletVersion: KUBERNETES_VERSION,
    architecture: "amd64",
    kubeletPort: options.server.port,
    imagesMax: node.imagesMax,
    localStorage: node.localStorage,
    featureGates: options.gates,
    allocatableOf: (capacity) => allocatableOf(capacity, options),
  };
}

function allocatableOf(capacity: Readonly<Record<string, string>>, options: CompiledOptions): Readonly<Record<string, string>> {
  const thresholds = options.eviction.outOfAllocatable
    ? new Map(options.eviction.hard.map(({ signal, value }) => [signal, thresholdValue(value)] as const))
    : new Map();
  const allocatable = nodeAllocatable(parseResourceList(capacity), reservationsOf(options), thresholds);
  return Object.fromEntries([...allocatable].map(([name, quantity]) => [name, formatQuantity(quantity)]));
}

type HardValue = CompiledOptions["eviction"]["hard"][number]["value"];

const thresholdValue = (value: HardValue) =>
  value.kind === "share"
    ? ({ kind: "share", share: value.share } as const)
    : ({ kind: "amount", amount: wholeQuantity(value.amount, "BinarySI") } as const);

function reservationsOf({ reserved }: CompiledOptions): Reservations {
  const list = (amounts: Readonly<Record<string, Quantity>>): ResourceList => new Map(Object.entries(amounts));
  return { kubeReserved: list(reserved.kube), systemReserved: list(reserved.system) };
}
