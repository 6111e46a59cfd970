/**
 * Every request to a node that stays within HTTP, in every variant that may be answered differently. NS is the
 * namespace of the node's pods.
 */
import type { Depth } from "./facts.ts";

/**
 * `nobody` sends no credentials, `stranger` a certificate of an unknown authority; `poor` is authenticated but
 * authorized for nothing.
 */
export type Asker = "operator" | "poor" | "nobody" | "stranger" | "badToken";

export type Listener = "api" | "health" | "readOnly";

export interface Question {
  readonly listener: Listener;
  readonly as: Asker;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly depth: Depth;
}

/** Metrics and stats are compared elsewhere; a profile is about the program itself. */
const depthOf = (path: string): Depth => (/^\/(?:metrics|stats\/summary|debug\/pprof)\b/.test(path) ? "type" : "whole");

export const ask = (path: string, more: Partial<Question> = {}): Question => ({
  listener: "api",
  as: "operator",
  method: "GET",
  path,
  headers: {},
  body: "",
  depth: depthOf(path),
  ...more,
});

const REFUSED: readonly Asker[] = ["nobody", "stranger", "badToken", "poor"];

export const nameOf = ({ listener, as, method, path, headers, body }: Question): string =>
  [
    `${listener} ${as} ${method} ${path}`,
    ...Object.entries(headers).map(([name, value]) => `${name}:${value}`),
    ...(body === "" ? [] : [`body:${body}`]),
  ].join(" ");

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

const HEALTH = [
  "/healthz",
  "/healthz/",
  "/healthz?verbose",
  "/healthz?verbose=false",
  "/healthz?exclude=ping",
  "/healthz?verbose&exclude=ping&exclude=syncloop",
  "/healthz?verbose&exclude=none&exclude=other",
  "/healthz/ping",
  "/healthz/ping?verbose",
  "/healthz/log",
  "/healthz/syncloop",
  "/healthz/device-plugin",
  "/healthz/none",
  "/healthz/ping/",
  "/healthz/ping/more",
];

const FORMS = [
  "*/*",
  "text/plain",
  "text/*",
  "text/html",
  "application/json",
  "application/yaml",
  "application/cbor",
  "application/json;as=KIND;v=v1beta1;g=config.k8s.io",
  "application/json;as=KIND;v=v1alpha1;g=config.k8s.io",
  "application/json;as=KIND;v=v2;g=config.k8s.io",
  "application/json;as=Other;v=v1beta1;g=config.k8s.io",
  "application/yaml;as=KIND;v=v1beta1;g=config.k8s.io",
  "application/cbor;as=KIND;v=v1beta1;g=config.k8s.io",
  "text/plain;q=0.5,application/json;as=KIND;v=v1beta1;g=config.k8s.io",
  "application/json;as=KIND;v=v1beta1;g=config.k8s.io;q=0.1,text/plain",
  "nonsense",
];

const METRICS = ["/metrics", "/metrics/cadvisor", "/metrics/resource", "/metrics/probes", "/metrics/slis"];
const PLAIN = {};
const PROTOBUF = {
  accept: "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
};
const GZIP = { "accept-encoding": "gzip" };
const METRIC_FORMS: readonly Readonly<Record<string, string>>[] = [
  { accept: "*/*" },
  { accept: "text/plain;version=0.0.4;q=0.5,*/*;q=0.1" },
  { accept: "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5" },
  { accept: "application/json" },
  { "accept-encoding": "zstd, br" },
  { "accept-encoding": "identity" },
];

const PAGES = [
  "/pods",
  "/runningpods/",
  "/configz",
  "/flagz",
  "/statusz",
  "/stats/summary?only_cpu_and_memory=true",
  "/metrics",
  "/containerLogs/NS/plain/main",
  "/exec/NS/plain/main?output=1",
  "/attach/NS/plain/main?output=1",
  "/portForward/NS/plain",
  "/run/NS/plain/none?cmd=true",
  "/checkpoint/NS/plain/none",
  "/logs/",
  "/debug/pprof/",
  "/debug/flags/v",
  "/healthz",
];

const NOT_THERE = [
  "/",
  "/none",
  "/none/",
  "/podsx",
  "/Pods",
  "/pods/more",
  "/pods/NS/plain",
  "/pods;x=1",
  "/runningpods/more",
  "/configz/",
  "/configz/more",
  "/flagz/",
  "/statusz/",
  "/metrics/",
  "/metrics/none",
  "/metrics/cadvisor/",
  "/metrics/cadvisor/more",
  "/stats",
  "/stats/",
  "/stats/summary/",
  "/stats/summary/more",
  "/stats/container",
  "/stats/NS/plain/uid/main",
  "/spec/",
  "/containerLogs",
  "/containerLogs/",
  "/containerLogs/NS",
  "/containerLogs/NS/plain",
  "/containerLogs/NS/plain/main/",
  "/containerLogs/NS/plain/main/more",
  "/exec",
  "/exec/",
  "/exec/NS/plain",
  "/run/NS/plain",
  "/attach/NS",
  "/portForward/NS",
  "/portForward/NS/plain/uid/more",
  "/checkpoint",
  "/checkpoint/NS/plain",
  "/debug",
  "/debug/",
  "/debug/pprof",
  "/debug/pprof/none",
  "/debug/flags",
  "/debug/flags/",
  "/debug/flags/v/",
  "/debug/flags/none",
  "/cri/exec/token",
  "/api/v1/nodes",
];

/** Paths whose meaning changes when they are cleaned. */
const UNCLEAN = [
  "//pods",
  "/pods//",
  "/./pods",
  "/pods/.",
  "/pods/..",
  "/../pods",
  "/healthz/../pods",
  "/none/../pods",
  "/containerLogs//NS/plain/main",
  "/containerLogs/NS/../NS/plain/main",
  "/pods/%2e%2e/healthz",
  "/healthz%2fping",
  "/%70ods",
  "/pods%00",
  "/pods%zz",
  "/logs/../pods",
];

const LOG_REFUSALS = [
  "/containerLogs/NS/none/main",
  "/containerLogs/NS/plain/none",
  "/containerLogs/none/plain/main",
  "/containerLogs/NS/plain/main?tailLines=x",
  "/containerLogs/NS/plain/main?tailLines=-1",
  "/containerLogs/NS/plain/main?limitBytes=0",
  "/containerLogs/NS/plain/main?sinceSeconds=0",
  "/containerLogs/NS/plain/main?sinceTime=x",
  "/containerLogs/NS/plain/main?stream=none",
  "/containerLogs/NS/plain/main?previous=true",
  "/containerLogs/NS/unpulled/main",
  "/containerLogs/NS/ended/main",
];

const STREAM_REFUSALS = [
  "/exec/NS/plain/main",
  "/exec/NS/plain/main?output=1",
  "/exec/NS/none/main?output=1",
  "/exec/NS/plain/none?output=1",
  "/exec/NS/ended/main?output=1",
  "/exec/NS/plain/no-such-uid/main?output=1",
  "/attach/NS/plain/main",
  "/attach/NS/plain/none?output=1",
  "/attach/NS/ended/main?output=1",
  "/portForward/NS/none",
  "/portForward/NS/ended",
  "/run/NS/plain/none?cmd=true",
  "/run/NS/none/main?cmd=true",
  "/run/NS/plain/main?cmd=echo%20a",
  "/checkpoint/NS/none/main",
  "/checkpoint/NS/plain/none",
  "/checkpoint/NS/plain/main?timeout=x",
];

const LOG_FILES = ["/logs", "/logs/", "/logs/none", "/logs/pods/", "/logs/../etc/passwd", "/logs/?query=kubelet"];

const FLAG_BODIES = ["0", "x", "", "-1", "4294967296"];

/**
 * For nodes with debugging handlers disabled. /pods is left out: after a restart the Go kubelet forgets the addresses
 * of terminated pods.
 */
export const QUESTIONS_WITHOUT_DEBUGGING: readonly Question[] = [
  ...[...HEALTH, ...PAGES, ...NOT_THERE].filter((path) => path !== "/pods").map((path) => ask(path)),
  ...["/exec", "/exec/", "/configz", "/logs/"].map((path) => ask(path, { method: "POST" })),
];

/** Questions by the title of their test. */
export const QUESTIONS: Readonly<Record<string, readonly Question[]>> = {
  "[20.6] health, all checks and one by one": HEALTH.map((path) => ask(path)),
  "[1.19] health on the port for it": [
    ...[...HEALTH, "/", "/none", "/pods", "/metrics", "//healthz"].map((path) => ask(path, { listener: "health" })),
    ...METHODS.flatMap((method) =>
      ["/healthz", "/healthz/ping"].map((path) => ask(path, { listener: "health", method })),
    ),
  ],
  "[20.15] flags and status in every form that can be requested": FORMS.flatMap((form) =>
    ["Flagz", "Statusz"].map((kind) =>
      ask(`/${kind.toLowerCase()}`, { headers: { accept: form.replaceAll("KIND", kind) } }),
    ),
  ),
  "[20.13] metrics in every form that can be requested": [
    ...METRIC_FORMS.map((headers) => ask("/metrics", { headers })),
    ...METRICS.flatMap((path) => [PLAIN, PROTOBUF, GZIP].map((headers) => ask(path, { headers }))),
    ...METHODS.map((method) => ask("/metrics/slis", { method })),
  ],
  "[20.4] [20.5] [20.15] every page, by every method": PAGES.flatMap((path) =>
    METHODS.map((method) => ask(path, { method })),
  ),
  "[20.3] what is not there, and slashes that are missing or too many": NOT_THERE.flatMap((path) =>
    ["GET", "POST"].map((method) => ask(path, { method })),
  ),
  "[20.3] paths that could be read in two ways": UNCLEAN.map((path) => ask(path)),
  "[20.11] logs that are refused": LOG_REFUSALS.map((path) => ask(path)),
  "[20.7] [20.10] [20.14] streams, commands and checkpoints that are refused": STREAM_REFUSALS.map((path) =>
    ask(path, { method: "POST" }),
  ),
  "[19.6] log files of the machine": LOG_FILES.map((path) => ask(path)),
  "[20.16] the log's verbosity and profiles": [
    ...FLAG_BODIES.map((body) => ask("/debug/flags/v", { method: "PUT", body })),
    ...["/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/pprof/goroutine"].map((path) => ask(path)),
  ],
  "[20.1] [20.2] who is not known, and who may do nothing": REFUSED.flatMap((as) =>
    [...PAGES, "/none", "/"].flatMap((path) =>
      (as === "poor" ? ["GET", "POST", "OPTIONS"] : ["GET", "POST"]).map((method) => ask(path, { as, method })),
    ),
  ),
  "[20.18] the port that asks nobody": [
    ...[...HEALTH, ...PAGES, ...NOT_THERE, "//pods"].map((path) => ask(path, { listener: "readOnly" })),
    ...METHODS.map((method) => ask("/pods", { listener: "readOnly", method })),
  ],
};
