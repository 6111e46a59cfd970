/** Admission: what it knows of the node, and what the operator decided. */
import type { LocalNode } from "../controllers/node/local-node.ts";
import { AdmissionContextReader } from "../controllers/sync-loop/admission-context.ts";
import { SyncLoop } from "../controllers/sync-loop/sync-loop.ts";
import { VOLUME_PLUGINS, volumeSources } from "../controllers/volumes/plugins/volume-plugins.ts";
import type { UidFacts } from "../domain/journal/facts.ts";
import { declaredFeatures } from "../domain/node/declared-features.ts";
import type { Journal } from "../ports/journal.ts";
import { endRequestsOf, type Wiring } from "./wiring.ts";

interface AdmissionLoopParts {
  readonly journal: Journal;
  readonly facts: ReadonlyMap<string, UidFacts>;
  readonly localNode: LocalNode;
}

export function admissionLoop(wiring: Wiring, { journal, facts, localNode }: AdmissionLoopParts): SyncLoop {
  const { ports, options, cells, events, metrics, watches } = wiring;
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
    facts,
    context: admissionContext(wiring, localNode, declared),
    declaredFeatures: declared,
    resize: { ...options.managers, podLevelResizes: gates.InPlacePodLevelResourcesVerticalScaling },
    podMetrics: metrics.pods,
    resizeMetrics: metrics.resizes,
    watch: watches.syncLoop,
  });
}

const admissionContext = (
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
    nodeHolds: cells.nodeHolds,
    nodeName: options.node.name,
    allowedUnsafeSysctls: options.pods.allowedUnsafeSysctls,
    gates: {
      podLevelResources: options.gates.PodLevelResources,
      comparingTolerations: options.gates.TaintTolerationComparisonOperators,
    },
    declaredFeatures: declared,
    volumeSources: volumeSources(VOLUME_PLUGINS),
  });
