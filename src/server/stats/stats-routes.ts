/** The node's resource usage: /stats/summary, /metrics/resource and /metrics/cadvisor. */
import type { ServerResponse } from "node:http";
import { errorText } from "../../base/error-text.ts";
import type { Family } from "../../base/metrics/family.ts";
import type { Summary } from "../../domain/stats/summary-shape.ts";
import { HttpError, type Route } from "../route.ts";
import { answerMetrics } from "./answer-metrics.ts";
import { asksForUsageOnly } from "./stats-query.ts";

/** The source of the stats: `NodeStats` in controllers/stats. */
export interface StatsSource {
  summary(signal: AbortSignal): Promise<Summary>;
  usageSummary(signal: AbortSignal): Promise<Summary>;
  resourceFamilies(signal: AbortSignal): Promise<Iterable<Family>>;
  cadvisorFamilies(signal: AbortSignal): Promise<Iterable<Family>>;
}

export const statsRoutes = (stats: StatsSource): readonly Route[] => [
  {
    path: "/stats/summary",
    methods: ["GET", "POST"],
    subresources: ["stats"],
    switch: "none",
    readOnlyPort: true,
    longRunning: false,
    answer: async (asked, response) => {
      const read = (await asksForUsageOnly(asked)) ? stats.usageSummary(asked.signal) : stats.summary(asked.signal);
      const summary = await read.catch((error: unknown) => {
        asked.signal.throwIfAborted();
        throw new HttpError(500, `Internal Error: ${errorText(error)}`);
      });
      sendSummary(response, summary);
    },
  },
  metricsRoute("/metrics/resource", (signal) => stats.resourceFamilies(signal)),
  metricsRoute("/metrics/cadvisor", (signal) => stats.cadvisorFamilies(signal)),
];

function metricsRoute(path: string, read: (signal: AbortSignal) => Promise<Iterable<Family>>): Route {
  return {
    path,
    methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    subresources: ["metrics"],
    switch: "none",
    readOnlyPort: true,
    longRunning: false,
    answer: async (asked, response) => answerMetrics(asked, response, await read(asked.signal)),
  };
}

function sendSummary(response: ServerResponse, summary: Summary): void {
  const body = Buffer.from(JSON.stringify(summary, undefined, 1));
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length });
  response.end(body);
}
