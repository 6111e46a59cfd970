/**
 * The results of health checks, for service-level indicators of this node. They have their own endpoint, /metrics/slis.
 */
import type { Registry } from "../../base/metrics/registry.ts";

export interface HealthMetrics {
  /** Records one check of all those that were run together. */
  readonly checked: (name: string, isWell: boolean) => void;
}

export function healthMetrics(registry: Registry): HealthMetrics {
  const last = registry.gauge({
    name: "kubernetes_healthcheck",
    help: "[STABLE] This metric records the result of a single healthcheck.",
    labels: ["name", "type"],
  });
  const total = registry.counter({
    name: "kubernetes_healthchecks_total",
    help: "[STABLE] This metric records the results of all healthcheck.",
    labels: ["name", "type", "status"],
  });
  return {
    checked: (name, isWell) => {
      last.set(isWell ? 1 : 0, name, "healthz");
      total.increment(name, "healthz", isWell ? "success" : "error");
    },
  };
}
