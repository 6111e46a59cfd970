/** Lifecycle hooks (postStart, preStop) of containers, and the messages of their failures. */
import type { ContainerPort, LifecycleHandler, Pod } from "../../api/gen/core-v1.ts";
import { goQuote } from "../../base/go-text.ts";
import { CONTAINER_PORTS, PRE_STOP_HANDLER } from "../container-config/cri-keys.ts";
import { hostAndPort } from "../probes/container-port.ts";
import type { HttpGet } from "../probes/http-get.ts";
import type { ContainerStop } from "./container-stops.ts";
import { containerNamed } from "./containers.ts";
import { describePod, type PodName } from "./pod-names.ts";
import type { PodRuntimeView } from "./runtime-view.ts";

/** From the pod's spec. For a pod that no source has any longer, from an annotation of its container. */
export function preStopOf(
  pod: Pod | undefined,
  view: PodRuntimeView | undefined,
  { id, name }: ContainerStop,
): LifecycleHandler | undefined {
  if (pod !== undefined) return containerNamed(pod.spec, name)?.container.lifecycle?.preStop;
  const mark = view?.containers.find((container) => container.id === id)?.annotations[PRE_STOP_HANDLER];
  const handler = mark === undefined ? undefined : parsed(mark);
  return typeof handler === "object" && handler !== null ? handler : undefined;
}

/** The container's ports from its annotation, for a pod that no source has any longer. */
export function markedPorts(marks: Readonly<Record<string, string>> | undefined): readonly ContainerPort[] {
  const text = marks?.[CONTAINER_PORTS];
  const list = text === undefined ? undefined : parsed(text);
  return Array.isArray(list) ? (list as readonly ContainerPort[]) : [];
}

/** Undefined if the annotation is not valid JSON: the container is then stopped without it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export interface HookPlace {
  readonly pod: PodName;
  readonly container: string;
}

const placeText = ({ pod, container }: HookPlace): string =>
  `for Container ${goQuote(container)} in Pod ${goQuote(describePod(pod))} failed - error: `;

export const execHookFailure = (place: HookPlace, command: readonly string[], error: string, output: string): string =>
  `Exec lifecycle hook ([${command.join(" ")}]) ${placeText(place)}${error}, message: ${goQuote(output)}`;

export const httpHookFailure = (place: HookPlace, path: string, error: string): string =>
  `HTTP lifecycle hook (${path}) ${placeText(place)}${error}`;

/** The same request over plain HTTP, without the Authorization header, which only TLS may carry. */
export const withoutTls = (get: HttpGet): HttpGet => ({
  ...get,
  scheme: "http",
  headers: get.headers.filter(([name]) => name.toLowerCase() !== "authorization"),
});

export const fallbackText = ({ host, port }: HttpGet): string =>
  `request to HTTPS lifecycle hook ${hostAndPort(host, port)} got HTTP response, retry with HTTP succeeded`;

/**
 * No kubelet runs tcpSocket hooks. The handler is printed as Go prints it, because users of the Go kubelet know the
 * text.
 */
export function invalidHandler({ tcpSocket }: LifecycleHandler): string {
  if (tcpSocket === undefined) return "Cannot run handler: invalid handler";
  const { port, host = "" } = tcpSocket;
  const shown = typeof port === "number" ? `{0 ${port} }` : `{1 0 ${port}}`;
  const socket = `&TCPSocketAction{Port:${shown},Host:${host},}`;
  return `Cannot run handler: invalid handler: &LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:${socket},Sleep:nil,}`;
}

export const exitedWith = (command: readonly string[], exitCode: number, stderr: string): string =>
  `command '${command.join(" ")}' exited with ${exitCode}: ${stderr}`;
