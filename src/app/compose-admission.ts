/**
 * Wires admission: its facts about the node, the operator's settings, and the allocators of resources that a container
 * has to itself.
 */
import type { LocalNode } from "../controllers/node/local-node.ts";
import { AdmissionContextReader } from "../controllers/sync-loop/admission-context.ts";
import type { PodAllocator } from "../controllers/sync-loop/allocation.ts";
import { SyncLoop } from "../controllers/sync-loop/sync-loop.ts";
import { VOLUME_PLUGINS, volumeSources } from "../controllers/volumes/plugins/volume-plugins.ts";
import type { JournaledPod } from "../domain/journal/journaled-pod.ts";
import { declaredFeatures } from "../domain/node/declared-features.ts";
import type { Journal } from "../ports/journal.ts";
import { endRequestsOf, type Wiring } from "./wiring.ts";

export type MakePodAllocator = (wiring: Wiring, journaledPods: ReadonlyMap<string, JournaledPod>) => PodAllocator;

/**
 * Allocators in call order: each sees what the earlier ones allocated. The list is empty because this agent has no
 * manager of CPUs, memory, devices or resource claims yet. A manager is one file of `src/controllers` and one line
 * here.
 */
export const POD_ALLOCATORS: readonly MakePodAllocator[] = [];

interface AdmissionLoopParts {
  readonly journal: Journal;
  readonly journaledPods: ReadonlyMap<string, JournaledPod>;
  readonly localNode: LocalNode;
  readonly allocators: readonly MakePodAllocator[];
}

export function admissionLoop(
  wiring: Wiring,
  { journal, journaledPods, localNode, allocators }: AdmissionLoopParts,
): SyncLoop {
  const { ports, options, cells, events, metrics, watched } = wiring;
  const { gates } = options;
  const declared = gates.NodeDeclaredFeatures ? (declaredFeatures(gates) ?? []) : undefined;
  return new SyncLoop({
    clock: ports.clock,
    journal,
    events,
    log: ports.logOf("sync-loop"),
    desiredPods: cells.desiredPods,
    podRuntimeStatus: cells.podRuntimeStatus,
    listedSandboxes: cells.listedSandboxes,
    podOutcomes: cells.podOutcomes,
    admittedPods: cells.admittedPods,
    endRequests: endRequestsOf(cells),
    preemptions: cells.endRequests.preemption,
    sourcesReady: cells.sourcesReady,
    journaledPods,
    allocators: allocators.map((make) => make(wiring, journaledPods)),
    context: admissionContextReader(wiring, localNode, declared),
    undecidedPods: options.compatibility.undecidedPods,
    declaredFeatures: declared,
    resize: { ...options.managers, podLevelResizes: gates.InPlacePodLevelResourcesVerticalScaling },
    podMetrics: metrics.pods,
    resizeMetrics: metrics.resizes,
    heartbeat: watched.syncLoop,
  });
}

const admissionContextReader = (
  { ports, options, cells }: Wiring,
  localNode: LocalNode,
  declared: readonly string[] | undefined,
): AdmissionContextReader =>
  new AdmissionContextReader({
    machine: ports.machine,
    api: ports.api?.main,
    clock: ports.clock,
    log: ports.logOf("sync-loop"),
    localNode: (signal) => localNode.read(signal),
    ownNode: cells.ownNode,
    runtimeClasses: cells.runtimeClasses,
    runtimeHealth: cells.runtimeHealth,
    pressure: cells.pressure,
    nodeNotReadyReasons: cells.nodeNotReadyReasons,
    nodeName: options.node.name,
    allowedUnsafeSysctls: options.pods.allowedUnsafeSysctls,
    gates: {
      podLevelResources: options.gates.PodLevelResources,
      comparingTolerations: options.gates.TaintTolerationComparisonOperators,
    },
    declaredFeatures: declared,
    volumeSources: volumeSources(VOLUME_PLUGINS),
  });
