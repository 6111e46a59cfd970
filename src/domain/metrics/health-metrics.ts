/** What the health checks said, for those who promise how often this node is well. On an endpoint of their own, /metrics/slis. */
import type { Registry } from "../../base/metrics/registry.ts";

export interface HealthMetrics {
  /** One check of all those that were asked together. */
  readonly checked: (name: string, isWell: boolean) => void;
}

export function healthMetrics(registry: Registry): HealthMetrics {
  const last = registry.gauge({
    name: "kubernetes_healthcheck",
    help: "1 where a check was well when it was last asked.",
    labels: ["name", "type"],
  });
  const total = registry.counter({
    name: "kubernetes_healthchecks_total",
    help: "How often a check was asked, by what it said.",
    labels: ["name", "type", "status"],
  });
  return {
    checked: (name, isWell) => {
      last.set(isWell ? 1 : 0, name, "healthz");
      total.increment(name, "healthz", isWell ? "success" : "error");
    },
  };
}
