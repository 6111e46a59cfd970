/** Which probes the containers of a pod have, with what the API server fills in where nothing is said. */
import type { Container, PodSpec, Probe } from "../../api/gen/core-v1.ts";
import { fieldPathOf, initContainers, regularContainers } from "../pod/every-container.ts";

export type ProbeKind = "startup" | "liveness" | "readiness";

export const PROBE_KINDS: readonly ProbeKind[] = ["startup", "liveness", "readiness"];

export type ProbeHandler =
  | { readonly kind: "exec"; readonly command: readonly string[] }
  | { readonly kind: "http"; readonly action: NonNullable<Probe["httpGet"]> }
  | { readonly kind: "tcp"; readonly action: NonNullable<Probe["tcpSocket"]> }
  | { readonly kind: "grpc"; readonly action: NonNullable<Probe["grpc"]> }
  /** Of a kind that this node does not know. */
  | { readonly kind: "missing" };

export interface ProbeSpec {
  readonly kind: ProbeKind;
  readonly handler: ProbeHandler;
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutSeconds: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

const TIMEOUT_SECONDS = 1;
const PERIOD_SECONDS = 10;
const SUCCESS_THRESHOLD = 1;
const FAILURE_THRESHOLD = 3;

export const probeOf = ({ startupProbe, livenessProbe, readinessProbe }: Container, kind: ProbeKind) =>
  ({ startup: startupProbe, liveness: livenessProbe, readiness: readinessProbe })[kind];

export const hasProbe = (container: Container, kind: ProbeKind): boolean => probeOf(container, kind) !== undefined;

export const probesOf = (container: Container): readonly ProbeSpec[] =>
  PROBE_KINDS.flatMap((kind) => {
    const probe = probeOf(container, kind);
    return probe === undefined ? [] : [probeSpec(kind, probe)];
  });

/** A zero counts as left out, as it does on the wire. */
const probeSpec = (kind: ProbeKind, probe: Probe): ProbeSpec => ({
  kind,
  handler: handlerOf(probe),
  initialDelayMs: (probe.initialDelaySeconds ?? 0) * 1000,
  periodMs: (probe.periodSeconds || PERIOD_SECONDS) * 1000,
  timeoutSeconds: probe.timeoutSeconds || TIMEOUT_SECONDS,
  successThreshold: probe.successThreshold || SUCCESS_THRESHOLD,
  failureThreshold: probe.failureThreshold || FAILURE_THRESHOLD,
});

function handlerOf({ exec, httpGet, tcpSocket, grpc }: Probe): ProbeHandler {
  if (exec !== undefined) return { kind: "exec", command: exec.command ?? [] };
  if (httpGet !== undefined) return { kind: "http", action: httpGet };
  if (tcpSocket !== undefined) return { kind: "tcp", action: tcpSocket };
  return grpc === undefined ? { kind: "missing" } : { kind: "grpc", action: grpc };
}

/** Whether the pod's own address is asked. */
export const needsAddress = ({ handler }: Pick<ProbeSpec, "handler">): boolean =>
  handler.kind === "grpc" || ((handler.kind === "http" || handler.kind === "tcp") && !handler.action.host);

export interface ProbedContainer {
  readonly container: Container;
  /** Where events say that it stands in the pod. */
  readonly fieldPath: string;
}

/** Those that stay: the regular ones, and of the init containers those that run beside them. What runs to its end or to look in with has no probes. */
export function probedContainers(spec: PodSpec | undefined): readonly ProbedContainer[] {
  return [...initContainers(spec), ...regularContainers(spec)]
    .filter(({ role, container }) => role !== "init" && PROBE_KINDS.some((kind) => hasProbe(container, kind)))
    .map((roled) => ({ container: roled.container, fieldPath: fieldPathOf(roled) }));
}
