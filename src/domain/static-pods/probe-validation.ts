/** Validates probes and lifecycle hooks. */
import type { HTTPGetAction, Lifecycle, LifecycleHandler, Probe } from "../../api/gen/core-v1.ts";
import { headerNameTroubles, portNameTroubles, portNumberTroubles } from "../../base/names.ts";
import type { FieldErrors } from "./field-errors.ts";

export type ProbeKind = "livenessProbe" | "readinessProbe" | "startupProbe";
export const probeKinds: readonly ProbeKind[] = ["livenessProbe", "readinessProbe", "startupProbe"];

/** The four handlers of a probe and the four of a hook, combined. */
interface Handler extends Pick<Probe, "exec" | "httpGet" | "tcpSocket" | "grpc">, Pick<LifecycleHandler, "sleep"> {}

export function validateProbe(errors: FieldErrors, path: string, kind: ProbeKind, probe: Probe, grace: number): void {
  const { exec, httpGet, tcpSocket, grpc } = probe;
  validateHandler(errors, path, pick({ exec, httpGet, tcpSocket, grpc }), grace);
  for (const field of ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"] as const) {
    errors.nonNegative(`${path}.${field}`, probe[field]);
  }
  errors.nonNegative(`${path}.successThreshold`, probe.successThreshold);
  const own = probe.terminationGracePeriodSeconds;
  if (own !== undefined && own <= 0) {
    errors.invalid(`${path}.terminationGracePeriodSeconds`, own, "must be greater than 0");
  }
  if (kind === "readinessProbe") {
    if (own !== undefined) {
      errors.invalid(`${path}.terminationGracePeriodSeconds`, own, "must not be set for readinessProbes");
    }
  } else if (probe.successThreshold !== undefined && probe.successThreshold !== 1) {
    errors.invalid(`${path}.successThreshold`, probe.successThreshold, "must be 1");
  }
}

export function validateLifecycle(
  errors: FieldErrors,
  path: string,
  lifecycle: Lifecycle,
  grace: number,
  operatingSystem: string | undefined,
): void {
  for (const hook of ["postStart", "preStop"] as const) {
    const handler = lifecycle[hook];
    if (handler === undefined) continue;
    const { exec, httpGet, tcpSocket, sleep } = handler;
    validateHandler(errors, `${path}.${hook}`, pick({ exec, httpGet, tcpSocket, sleep }), grace);
  }
  if (lifecycle.stopSignal !== undefined && operatingSystem === undefined) {
    errors.forbidden(`${path}.stopSignal`, "may not be set for containers with empty `spec.os.name`");
  }
}

type Given<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

const pick = <T extends object>(values: T): Given<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Given<T>;

function validateHandler(errors: FieldErrors, path: string, handler: Handler, grace: number): void {
  const kinds = Object.keys(handler);
  if (kinds.length === 0) errors.required(path, "must specify a handler type");
  for (const extra of kinds.slice(1)) {
    errors.forbidden(`${path}.${extra}`, "may not specify more than 1 handler type");
  }
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  switch (kinds[0]) {
    case "exec":
      if ((exec?.command ?? []).length === 0) errors.required(`${path}.exec.command`);
      break;
    case "httpGet":
      if (httpGet !== undefined) validateHttpGet(errors, `${path}.httpGet`, httpGet);
      break;
    case "tcpSocket":
      validatePort(errors, `${path}.tcpSocket.port`, tcpSocket?.port ?? 0);
      break;
    case "grpc":
      validatePort(errors, `${path}.grpc.port`, grpc?.port ?? 0);
      break;
    case "sleep":
      if (sleep !== undefined && (sleep.seconds < 0 || sleep.seconds > grace)) {
        const rule = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
        errors.invalid(`${path}.sleep`, sleep.seconds, rule);
      }
      break;
    default:
  }
}

function validateHttpGet(errors: FieldErrors, path: string, action: HTTPGetAction): void {
  if (!action.path) errors.required(`${path}.path`);
  validatePort(errors, `${path}.port`, action.port ?? 0);
  const scheme = action.scheme ?? "";
  if (scheme !== "HTTP" && scheme !== "HTTPS") errors.unsupported(`${path}.scheme`, scheme, ["HTTP", "HTTPS"]);
  for (const { name } of action.httpHeaders ?? []) {
    errors.invalid(`${path}.httpHeaders`, name, ...headerNameTroubles(name));
  }
}

function validatePort(errors: FieldErrors, path: string, port: number | string): void {
  errors.invalid(path, port, ...(typeof port === "number" ? portNumberTroubles(port) : portNameTroubles(port)));
}
