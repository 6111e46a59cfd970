/** The probes of a pod's containers, with the API server's defaults for omitted fields. */
import type { Container, PodSpec, Probe } from "../../api/gen/core-v1.ts";
import { fieldPathOf, initContainers, regularContainers } from "../pod/containers.ts";

export type ProbeKind = "startup" | "liveness" | "readiness";

export const PROBE_KINDS: readonly ProbeKind[] = ["startup", "liveness", "readiness"];

export type ProbeHandler =
  | { readonly kind: "exec"; readonly command: readonly string[] }
  | { readonly kind: "http"; readonly action: NonNullable<Probe["httpGet"]> }
  | { readonly kind: "tcp"; readonly action: NonNullable<Probe["tcpSocket"]> }
  | { readonly kind: "grpc"; readonly action: NonNullable<Probe["grpc"]> }
  /** A handler kind that this kubelet does not know. */
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

/** Zero counts as omitted, as on the wire. */
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

/** Whether the probe uses the pod's own address. */
export const needsAddress = ({ handler }: Pick<ProbeSpec, "handler">): boolean =>
  handler.kind === "grpc" || ((handler.kind === "http" || handler.kind === "tcp") && !handler.action.host);

export interface ProbedContainer {
  readonly container: Container;
  /** The container's field path, as events use it. */
  readonly fieldPath: string;
}

/** Regular containers and sidecars with probes. Other init containers and ephemeral containers have no probes. */
export function probedContainers(spec: PodSpec | undefined): readonly ProbedContainer[] {
  return [...initContainers(spec), ...regularContainers(spec)]
    .filter(({ role, container }) => role !== "init" && PROBE_KINDS.some((kind) => hasProbe(container, kind)))
    .map((containerSpec) => ({ container: containerSpec.container, fieldPath: fieldPathOf(containerSpec) }));
}
