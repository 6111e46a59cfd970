/** Selects the dead containers and sandboxes of a pod that may be removed from the runtime. */
import { containerNameOf, type PodContainer, type PodRuntimeView } from "../pod/runtime-view.ts";

export interface GcPlan {
  readonly containers: readonly PodContainer[];
  readonly sandboxIds: readonly string[];
}

/**
 * A pod that continues keeps the newest dead instance of each container, for its logs and its exit code, and its newest
 * sandbox. A terminated pod keeps nothing. Containers and sandboxes that may still run are never removed.
 */
export function gcPlan(view: PodRuntimeView, podHasEnded: boolean): GcPlan {
  const containers = view.containers.filter(
    (container) => isDead(container) && (podHasEnded || !isKept(container, view)),
  );
  const removed = new Set(containers.map(({ id }) => id));
  const inUse = new Set(view.containers.filter(({ id }) => !removed.has(id)).map(({ sandboxId }) => sandboxId));
  const sandboxIds = view.sandboxes
    .filter(({ id, state }, index) => state === "notReady" && !inUse.has(id) && (podHasEnded || index > 0))
    .map(({ id }) => id);
  return { containers, sandboxIds };
}

const isDead = ({ state }: PodContainer) => state === "exited" || state === "created";

/** The newest instance is kept, and beside a running one the newest that exited. */
function isKept(container: PodContainer, view: PodRuntimeView): boolean {
  const name = containerNameOf(container);
  const instances = view.containers.filter((other) => containerNameOf(other) === name);
  const [newest] = instances;
  if (newest === container) return true;
  return container.state === "exited" && instances.find(({ state }) => state === "exited") === container;
}
