/** Pods with every kind of probe, the state that each reaches, and which events it has, under any kubelet. */
import type { Container, Pod, PodSpec, Probe } from "../../../src/api/gen/core-v1.ts";
import { AGNHOST_IMAGE } from "../../cluster/images.ts";
import { selected } from "../../golden/selected-cases.ts";
import { conditionOf, hasEndedWhole, STAY, sh } from "../../support/cluster-pods.ts";

export interface ProbeCase {
  readonly name: string;
  /** Ledger rows that the test's title names. */
  readonly rows: readonly string[];
  readonly spec: Partial<PodSpec>;
  /** The state that the pod reaches. */
  readonly what: string;
  readonly is: (pod: Pod) => boolean;
  /** Events that the pod always has, without addresses and IDs; the recording contains all of them. */
  readonly events: readonly string[];
}

/** A port on the node's own network. */
export const HOST_PORT = 18_765;

const READY = "was ready";
const UNREADY = "was unready";
export const RESTARTED = "was restarted";

/** Whether a pod of this case no longer changes. */
export const isStill = ({ what }: Pick<ProbeCase, "what">): boolean => what === READY || what === UNREADY;

const statusOf = (pod: Pod) => pod.status?.containerStatuses?.[0];
export const isReady = (pod: Pod) => statusOf(pod)?.ready === true && conditionOf(pod, "Ready")?.status === "True";
const isUnready = (pod: Pod) =>
  statusOf(pod)?.state?.running !== undefined && statusOf(pod)?.started === true && statusOf(pod)?.ready === false;
const isRestarted = (pod: Pod) => (statusOf(pod)?.restartCount ?? 0) >= 1;

const agnhost = (...args: readonly string[]): Container => ({ name: "main", image: AGNHOST_IMAGE, args });
const WEB = agnhost("netexec", "--http-port=8080", "--udp-port=-1");
const GRPC = agnhost("grpc-health-checking");

/** With time to answer: a busy machine must not decide the outcome. */
const QUICK = { periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 10 } as const;
const LATE = { timeoutSeconds: 1 } as const;
/** Tolerates failures that a busy machine causes. */
const LENIENT = { failureThreshold: 5 } as const;

/** Accepts every connection and sends nothing. */
const silent = (port: number) => `nc -ll -p ${port} -e sleep 30 & ${STAY}`;
const exec = (...command: readonly string[]): Probe => ({ exec: { command }, ...QUICK });
const http = (path: string, port: number | string = 8080): Probe => ({ httpGet: { path, port }, ...QUICK });
const grpc = (port: number, service?: string): Probe => ({
  grpc: { port, ...(service === undefined ? {} : { service }) },
  ...QUICK,
});

const one = (container: Container, probes: Partial<Container>, spec: Partial<PodSpec> = {}): Partial<PodSpec> => ({
  ...spec,
  containers: [{ ...container, ...probes }],
});
const ready = { what: READY, is: isReady, events: [] } as const;
const unready = (...events: readonly string[]) => ({ what: UNREADY, is: isUnready, events });
const restarted = (...events: readonly string[]) => ({ what: RESTARTED, is: isRestarted, events });

const failed = (kind: string, message: string) => `Unhealthy ${kind} probe failed: ${message}`;
const killed = (kind: string) => `Killing Container main failed ${kind} probe, will be restarted`;
const NO_FILE = "cat: can't open '/tmp/ok': No such file or directory\n";

const ALL_CASES: readonly ProbeCase[] = [
  {
    name: "exec-ready",
    rows: ["12.6"],
    spec: one(sh(`touch /tmp/ok; ${STAY}`), {
      readinessProbe: exec("cat", "/tmp/ok"),
      livenessProbe: { ...exec("true"), ...LENIENT },
    }),
    ...ready,
  },
  {
    name: "exec-unready",
    rows: ["12.2", "12.6"],
    spec: one(sh(STAY), { readinessProbe: exec("cat", "/tmp/ok") }),
    ...unready(failed("Readiness", NO_FILE)),
  },
  {
    name: "exec-dies",
    rows: ["12.6", "12.7"],
    spec: one(sh(`touch /tmp/ok; sleep 4; rm /tmp/ok; ${STAY}`), {
      livenessProbe: { ...exec("cat", "/tmp/ok"), initialDelaySeconds: 1 },
    }),
    ...restarted(failed("Liveness", NO_FILE), killed("liveness")),
  },
  {
    name: "exec-late",
    rows: ["12.6", "12.7"],
    spec: one(sh(STAY), { livenessProbe: { ...exec("sleep", "20"), timeoutSeconds: 1, initialDelaySeconds: 2 } }),
    ...restarted(failed("Liveness", 'command timed out: "sleep 20" timed out after 1s'), killed("liveness")),
  },
  {
    name: "exec-variable",
    rows: ["12.6"],
    spec: one(
      { ...sh(STAY), env: [{ name: "WORD", value: "no" }] },
      { readinessProbe: exec("sh", "-c", "echo $(WORD) $(NONE); false") },
    ),
    // The shell runs what is in parentheses and is no variable.
    ...unready(failed("Readiness", "no\nsh: NONE: not found\n")),
  },
  {
    name: "http-ready",
    rows: ["12.3"],
    spec: one(
      { ...WEB, ports: [{ name: "web", containerPort: 8080 }] },
      {
        readinessProbe: http("/hostname", "web"),
        livenessProbe: { ...http("/hostname"), initialDelaySeconds: 3, ...LENIENT },
      },
    ),
    ...ready,
  },
  {
    name: "http-host-network",
    rows: ["12.3"],
    spec: one(
      agnhost("netexec", `--http-port=${HOST_PORT}`, "--udp-port=-1"),
      { readinessProbe: http("/hostname", HOST_PORT) },
      { hostNetwork: true },
    ),
    ...ready,
  },
  {
    name: "http-500",
    rows: ["12.3", "12.7"],
    spec: one(WEB, { readinessProbe: http("/echo?msg=secret&code=500") }),
    ...unready(failed("Readiness", "HTTP probe failed with statuscode: 500")),
  },
  {
    name: "http-refused",
    rows: ["12.3", "12.7"],
    spec: one(WEB, { readinessProbe: http("/some path", 81) }),
    ...unready(
      failed("Readiness", 'Get "http://<address>:81/some%20path": dial tcp <address>:81: connect: connection refused'),
    ),
  },
  {
    name: "http-redirect",
    rows: ["12.3"],
    spec: one(WEB, { readinessProbe: http("/redirect?location=%2Fecho%3Fmsg%3Da%26code%3D404") }),
    ...unready(failed("Readiness", "HTTP probe failed with statuscode: 404")),
  },
  {
    name: "http-away",
    rows: ["12.3"],
    spec: one(WEB, { readinessProbe: http("/redirect?location=http%3A%2F%2F0.0.0.0%2F") }),
    ...ready,
    events: [
      'ProbeWarning Readiness probe warning: Probe terminated redirects, Response body: <a href="http://0.0.0.0/">Found</a>.\n\n',
    ],
  },
  {
    name: "http-silent",
    rows: ["12.3"],
    spec: one(sh(silent(8080)), { readinessProbe: { ...http("/"), ...LATE } }),
    ...unready(
      failed(
        "Readiness",
        'Get "http://<address>:8080/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
      ),
    ),
  },
  {
    name: "https-plain",
    rows: ["12.3"],
    spec: one(WEB, { readinessProbe: { ...QUICK, httpGet: { path: "/", port: 8080, scheme: "HTTPS" } } }),
    ...unready(failed("Readiness", 'Get "https://<address>:8080/": http: server gave HTTP response to HTTPS client')),
  },
  {
    name: "tcp-ready",
    rows: ["12.4"],
    spec: one(WEB, { readinessProbe: { tcpSocket: { port: 8080 }, ...QUICK } }),
    ...ready,
  },
  {
    name: "tcp-dies",
    rows: ["12.4", "12.7"],
    spec: one(sh(STAY), { livenessProbe: { tcpSocket: { port: 82 }, ...QUICK, initialDelaySeconds: 2 } }),
    ...restarted(failed("Liveness", "dial tcp <address>:82: connect: connection refused"), killed("liveness")),
  },
  {
    name: "grpc-ready",
    rows: ["12.5"],
    spec: one(GRPC, { readinessProbe: grpc(5000) }),
    ...ready,
  },
  {
    name: "grpc-unknown",
    rows: ["12.5"],
    spec: one(GRPC, { readinessProbe: grpc(5000, "other") }),
    ...unready(
      failed("Readiness", "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"),
    ),
  },
  {
    name: "grpc-sick",
    rows: ["12.5", "12.7"],
    spec: one(agnhost("grpc-health-checking", "--delay-unhealthy-sec=3"), {
      livenessProbe: { ...grpc(5000), initialDelaySeconds: 2, failureThreshold: 2 },
    }),
    ...restarted(failed("Liveness", 'service unhealthy (responded with "NOT_SERVING")'), killed("liveness")),
  },
  {
    name: "grpc-nobody",
    rows: ["12.5"],
    spec: one(GRPC, { readinessProbe: { ...grpc(83), ...LATE } }),
    ...unready(
      failed("Readiness", 'timeout: failed to connect service "<address>:83" within 1s: context deadline exceeded'),
    ),
  },
  {
    name: "grpc-plain",
    rows: ["12.5"],
    spec: one(sh(silent(5000)), { readinessProbe: { ...grpc(5000), ...LATE } }),
    ...unready(
      failed("Readiness", 'timeout: failed to connect service "<address>:5000" within 1s: context deadline exceeded'),
    ),
  },
  {
    name: "startup-ready",
    rows: ["12.1", "12.2", "12.7"],
    spec: one(sh(`sleep 6; touch /tmp/ok; ${STAY}`), {
      startupProbe: { ...exec("cat", "/tmp/ok"), failureThreshold: 60 },
      livenessProbe: { ...exec("cat", "/tmp/ok"), ...LENIENT },
      readinessProbe: { ...exec("true"), periodSeconds: 5 },
    }),
    ...ready,
    events: [failed("Startup", NO_FILE)],
  },
  {
    name: "startup-dies",
    rows: ["12.1", "12.7"],
    spec: one(sh(STAY), { startupProbe: { ...exec("false"), failureThreshold: 2 }, livenessProbe: exec("false") }),
    ...restarted(failed("Startup", ""), killed("startup")),
  },
  {
    name: "never-again",
    rows: ["12.7"],
    spec: one(sh(STAY), { livenessProbe: { ...exec("false"), initialDelaySeconds: 2 } }, { restartPolicy: "Never" }),
    what: "ended",
    is: (pod) => pod.status?.phase === "Succeeded" && hasEndedWhole(pod),
    // The pod terminates with its only container.
    events: [failed("Liveness", ""), "Killing Stopping container main"],
  },
  {
    name: "not-the-last",
    rows: ["12.7"],
    spec: {
      restartPolicy: "Never",
      containers: [{ ...sh(STAY), livenessProbe: { ...exec("false"), initialDelaySeconds: 2 } }, sh(STAY, "other")],
    },
    what: "lost a container",
    is: ({ status }) => status?.phase === "Running" && status.containerStatuses?.[0]?.state?.terminated !== undefined,
    events: ["Killing Container main failed liveness probe"],
  },
];

export const CASES = selected(ALL_CASES);
