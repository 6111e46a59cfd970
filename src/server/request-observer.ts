/** Labels for counting requests, from fixed sets, so that requests for unknown paths cannot make the metrics grow. */
import type { PathParts } from "../domain/server/node-request.ts";

export interface RequestLabels {
  readonly method: string;
  readonly bucket: string;
  readonly serverType: "readwrite" | "readonly";
  readonly longRunning: boolean;
}

export interface RequestObserver {
  /** The request is in progress until `onAnswered`. */
  onAsked(labels: RequestLabels): void;
  /**
   * Called once per request, even if the client left without a response: then with the status it would have got, or 0.
   */
  onAnswered(answered: RequestLabels & { readonly status: number; readonly ms: number }): void;
}

const METHODS: ReadonlySet<string> = new Set(["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT"]);

const BUCKETS: ReadonlySet<string> = new Set([
  "healthz",
  "pods",
  "stats",
  "metrics",
  "metrics/cadvisor",
  "metrics/probes",
  "metrics/resource",
  "logs",
  "debug",
  "run",
  "exec",
  "attach",
  "portForward",
  "containerLogs",
  "configz",
  "runningpods",
  "checkpoint",
  "flagz",
  "statusz",
]);

/**
 * As in the Go kubelet, which checks for "portforward" here but labels the requests "portForward", so they are not
 * included.
 */
const LONG_RUNNING: ReadonlySet<string> = new Set(["exec", "attach", "debug"]);

/** An invalid path is counted like an unknown one. */
export function labelsOf(
  method: string,
  path: PathParts | undefined,
  serverType: RequestLabels["serverType"],
): RequestLabels {
  const [first = "", second] = path ?? [];
  const root = first === "metrics" && second !== undefined ? `${first}/${second}` : first;
  const bucket = BUCKETS.has(root) ? root : "other";
  return {
    method: METHODS.has(method) ? method : "other",
    bucket,
    serverType,
    longRunning: LONG_RUNNING.has(bucket),
  };
}
