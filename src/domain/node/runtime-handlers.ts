/** The runtime handlers and features in a node's status; the previous ones while the runtime has not answered. */
import type { NodeFeatures, NodeRuntimeHandler } from "../../api/gen/core-v1.ts";
import type { RuntimeHandler } from "../runtime/runtime-info.ts";
import type { RuntimeHealth } from "./runtime-health.ts";

export function reportedHandlers(
  health: RuntimeHealth,
  previous: readonly NodeRuntimeHandler[] | undefined,
): readonly NodeRuntimeHandler[] | undefined {
  if (health.kind === "unknown") return previous;
  if (health.status.handlers.length === 0) return undefined;
  return health.status.handlers.toSorted(byName).map(reported);
}

export function reportedFeatures(health: RuntimeHealth, previous: NodeFeatures | undefined): NodeFeatures | undefined {
  if (health.kind === "unknown") return previous;
  return { supplementalGroupsPolicy: health.status.supplementalGroupsPolicy };
}

/** The handler with the empty name is the default one. */
const reported = ({ name, recursiveReadonlyMounts, userNamespaces }: RuntimeHandler): NodeRuntimeHandler => ({
  name,
  features: { recursiveReadOnlyMounts: recursiveReadonlyMounts, userNamespaces },
});

const byName = (a: RuntimeHandler, b: RuntimeHandler) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
