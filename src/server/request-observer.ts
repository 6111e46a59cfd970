/** Requests as they are counted: labels from fixed sets, so that nobody can make metrics grow by asking for what is not there. */
import type { PathParts } from "../domain/server/node-request.ts";

export interface RequestLabels {
  readonly method: string;
  readonly bucket: string;
  readonly serverType: "readwrite" | "readonly";
  readonly longRunning: boolean;
}

export interface RequestObserver {
  /** The request is being answered from here on, until `onAnswered`. */
  onAsked(labels: RequestLabels): void;
  /** Once per request, also when the asker left without an answer: then with the status it would have had, or 0. */
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

/** As the Go kubelet's: it looks for "portforward" here and counts "portForward", which is therefore not among them. */
const LONG_RUNNING: ReadonlySet<string> = new Set(["exec", "attach", "debug"]);

/** A path that is none is counted with those that nobody knows. */
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
