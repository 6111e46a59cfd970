/** Admission: what it knows of the node, and what the operator decided. */

import type { LocalNode } from "../controllers/node/local-node.ts";
import { AdmissionContextReader } from "../controllers/sync-loop/admission-context.ts";
import type { SyncLoopOptions } from "../controllers/sync-loop/sync-loop.ts";
import { declaredFeatures } from "../domain/node/declared-features.ts";
import type { Wiring } from "./wiring.ts";

type AdmissionParts = Pick<SyncLoopOptions, "context" | "declaredFeatures" | "resize">;

export function admission({ ports, options, cells }: Wiring, localNode: LocalNode): AdmissionParts {
  const { gates } = options;
  const declared = gates.NodeDeclaredFeatures ? (declaredFeatures(gates) ?? []) : undefined;
  return {
    context: new AdmissionContextReader({
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
        podLevelResources: gates.PodLevelResources,
        comparingTolerations: gates.TaintTolerationComparisonOperators,
      },
      declaredFeatures: declared,
    }),
    declaredFeatures: declared,
    resize: {
      ...options.managers,
      podLevelResizes: gates.InPlacePodLevelResourcesVerticalScaling,
    },
  };
}
