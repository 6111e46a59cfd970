/** Wraps the cgroups port and times creation, update and removal. */
import type { NodeMetrics } from "../../domain/metrics/node-metrics.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";

export interface InstrumentedCgroupsParts {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly metrics: Pick<NodeMetrics, "cgroupOperations">;
}

/**
 * The first `apply` of a cgroup in this process counts as a creation, even if a previous kubelet process created the
 * cgroup.
 */
export function instrumentedCgroups(cgroups: Cgroups, { clock, metrics }: InstrumentedCgroupsParts): Cgroups {
  const made = new Set<string>();
  const timed = async (operation: "create" | "update" | "destroy", act: () => Promise<void>): Promise<void> => {
    const sinceMs = clock.monotonicMs();
    try {
      await act();
    } finally {
      metrics.cgroupOperations.observe((clock.monotonicMs() - sinceMs) / 1000, operation);
    }
  };
  return {
    version: cgroups.version,
    driver: cgroups.driver,
    pathOf: (name) => cgroups.pathOf(name),
    hasSwapAccounting: (name) => cgroups.hasSwapAccounting(name),
    exists: (name) => cgroups.exists(name),
    validationError: (name) => cgroups.validationError(name),
    apply: (name, values) => {
      const key = name.join("/");
      const operation = made.has(key) ? "update" : "create";
      made.add(key);
      return timed(operation, () => cgroups.apply(name, values));
    },
    children: (name) => cgroups.children(name),
    memory: (name) => cgroups.memory(name),
    memoryEvents: (name, signal) => cgroups.memoryEvents(name, signal),
    processes: (name) => cgroups.processes(name),
    destroy: (name, signal) => {
      made.delete(name.join("/"));
      return timed("destroy", () => cgroups.destroy(name, signal));
    },
  };
}
