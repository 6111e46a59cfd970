/** What admission is told of the node, and what wakes it. */
import type { Node } from "../api/gen/core-v1.ts";
import { nodes } from "../api/resources.ts";
import { withDeadline } from "../concurrency/deadline.ts";
import type { SyncLoopOptions } from "../controllers/sync-loop/sync-loop.ts";
import { type SysctlRules, sysctlRules } from "../domain/admission/sysctls.ts";
import { declaredFeatures } from "../domain/node/declared-features.ts";
import type { Wiring } from "./compose.ts";
import { unwrittenNode } from "./compose-node.ts";

/** All who come meanwhile wait for this answer too. */
const FETCH_MS_MAX = 5_000;

type AdmissionParts = Pick<SyncLoopOptions, "nodeForPods" | "fetchNode" | "awaited" | "declaredFeatures" | "resize">;

export function admission(wiring: Wiring): AdmissionParts {
  const { ports, options, cells } = wiring;
  const { runtimeClasses, ownNode, pressure, runtimeHealth, nodeHolds } = cells;
  const { gates } = options;
  const machine = machineReader(wiring);
  const node = nodeReader(wiring);
  const declared = gates.NodeDeclaredFeatures ? (declaredFeatures(gates) ?? []) : undefined;
  return {
    nodeForPods: async (signal) => ({
      ...(await machine()),
      node: await node(signal),
      pressure: pressure.value,
      knowsRuntimeClasses: runtimeClasses.value !== undefined,
      strictGroups: runtimeHealth.value.kind === "answered" && runtimeHealth.value.status.supplementalGroupsPolicy,
      gates: {
        podLevelResources: gates.PodLevelResources,
        comparingTolerations: gates.TaintTolerationComparisonOperators,
      },
      declaredFeatures: declared,
      isShuttingDown: nodeHolds.value.shutdown !== undefined,
    }),
    fetchNode: async (signal) => {
      const { api, clock } = ports;
      if (api === undefined) return undefined;
      try {
        const name = { name: options.node.name };
        return known(await withDeadline(clock, FETCH_MS_MAX, signal, (limited) => api.main.get(nodes, name, limited)));
      } catch (error) {
        signal.throwIfAborted();
        ports.logOf("sync-loop").error("the Node could not be read, so what is known of it counts", error);
        return undefined;
      }
    },
    awaited: [runtimeClasses, ownNode],
    declaredFeatures: declared,
    resize: {
      ...options.managers,
      podLevelResizes: gates.InPlacePodLevelResourcesVerticalScaling,
    },
  };
}

/** What a machine keeps as long as this process lives. */
function machineReader({ ports, options }: Wiring) {
  let known: { readonly sysctls: SysctlRules; readonly apparmor: boolean } | undefined;
  return async () => {
    if (known !== undefined) return known;
    const { kernelVersion, apparmor } = await ports.machine.facts();
    known = { sysctls: sysctlRules(kernelVersion, options.pods.allowedUnsafeSysctls), apparmor };
    return known;
  };
}

/** As the API server has it; while it has none, or there is no server, as we would write it. */
function nodeReader(wiring: Wiring): (signal: AbortSignal) => Promise<Node | undefined> {
  const { ownNode } = wiring.cells;
  const unwritten = unwrittenNode(wiring);
  let made: Node | undefined;
  return async (signal) => {
    const own = ownNode.value;
    if (own.kind === "present") return known(own.node);
    made ??= known(await unwritten(signal));
    return made;
  };
}

/** A Node that does not say what it can give is not known yet. */
const known = (node: Node): Node | undefined => (node.status?.allocatable?.["pods"] === undefined ? undefined : node);
