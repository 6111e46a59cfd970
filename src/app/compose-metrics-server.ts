/** Metrics endpoints of the kubelet, and metrics of its requests and health checks. */
import type { Family } from "../base/metrics/family.ts";
import { Registry } from "../base/metrics/registry.ts";
import { raceAbort } from "../concurrency/abort.ts";
import { withDeadline } from "../concurrency/deadline.ts";
import { healthMetrics } from "../domain/metrics/health-metrics.ts";
import type { KubeletMetrics } from "../domain/metrics/kubelet-metrics.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { HealthCheck } from "../server/healthz.ts";
import { type MetricsParts, metricsRoutes } from "../server/metrics.ts";
import { requestMetrics } from "../server/request-metrics.ts";
import type { RequestObserver } from "../server/request-observer.ts";
import type { Route } from "../server/route.ts";
import type { KubeletPorts } from "./wiring.ts";

export interface MetricsServer {
  readonly routes: readonly Route[];
  readonly observer: RequestObserver;
  /** The same health check, with its result counted. */
  readonly countedCheck: (check: HealthCheck) => HealthCheck;
}

export function composeMetricsServer(
  { clock, process, logOf }: Pick<KubeletPorts, "clock" | "process" | "logOf">,
  metrics: KubeletMetrics,
  more: MetricsParts["more"],
): MetricsServer {
  const health = new Registry();
  const { checked } = healthMetrics(health);
  return {
    routes: metricsRoutes({
      clock,
      process,
      registry: metrics.registry,
      health,
      probes: metrics.probeRegistry,
      more: more.map((collect) => () => unlessLate(collect, clock, logOf("metrics"))),
    }),
    observer: requestMetrics(metrics.server),
    countedCheck: (own) => ({
      name: own.name,
      check: () => {
        let isWell = false;
        try {
          const fault = own.check();
          isWell = fault === undefined;
          return fault;
        } finally {
          checked(own.name, isWell);
        }
      },
    }),
  };
}

const OTHERS_LIMIT_MS = 5_000;

/** A slow or failing external collector must not block the metrics that are counted in this process. */
async function unlessLate(collect: MetricsParts["more"][number], clock: Clock, log: Log): Promise<readonly Family[]> {
  try {
    const forever = new AbortController().signal;
    return await withDeadline(clock, OTHERS_LIMIT_MS, forever, (limited) => raceAbort(collect(), limited));
  } catch (error) {
    log.error("Failed to collect some metrics", error);
    return [];
  }
}
