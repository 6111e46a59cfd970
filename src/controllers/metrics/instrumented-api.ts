/**
 * Wraps the API server port and counts every request by response code. Retries inside the port count as one request
 * with its final code; a watch is counted when it begins and is not timed.
 */
import type { ApiMetrics } from "../../domain/metrics/api-metrics.ts";
import { ApiError } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The code label that client-go uses for a request without a response. */
const NO_ANSWER = "<error>";

export interface InstrumentedApiParts {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly metrics: ApiMetrics;
  /** The API server's host and port. */
  readonly host: string;
}

export function instrumentedApi(api: ApiServer, { clock, metrics, host }: InstrumentedApiParts): ApiServer {
  const instrumented = async <T>(method: Method, call: () => Promise<T>): Promise<T> => {
    const sinceMs = clock.monotonicMs();
    let code = NO_ANSWER;
    try {
      const answer = await call();
      code = method === "POST" ? "201" : "200";
      return answer;
    } catch (error) {
      if (error instanceof ApiError) code = String(error.status);
      throw error;
    } finally {
      metrics.requests.increment(code, method, host);
      metrics.durations.observe((clock.monotonicMs() - sinceMs) / 1000, method, host);
    }
  };
  return {
    get: (...args) => instrumented("GET", () => api.get(...args)),
    list: (...args) => instrumented("GET", () => api.list(...args)),
    watch: (...args) => {
      metrics.requests.increment("200", "GET", host);
      return api.watch(...args);
    },
    create: (...args) => instrumented("POST", () => api.create(...args)),
    update: (...args) => instrumented("PUT", () => api.update(...args)),
    patch: (...args) => instrumented("PATCH", () => api.patch(...args)),
    delete: (...args) => instrumented("DELETE", () => api.delete(...args)),
    ask: (...args) => instrumented("POST", () => api.ask(...args)),
    renewConnections: () => api.renewConnections(),
  };
}
