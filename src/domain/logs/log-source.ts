/** Selects the run of a container whose log a reader gets, or says why there is none, in the Go kubelet's words. */
import type { ContainerStatus } from "../../api/gen/core-v1.ts";
import { goQuote } from "../../base/go-text.ts";

export type LogSource =
  /** As in the API: the runtime's name, "://", the runtime's ID of the container. */
  { readonly kind: "container"; readonly id: string } | { readonly kind: "none"; readonly why: string };

export interface LogTarget {
  readonly pod: string;
  readonly container: string;
  /** Whether the run before the current one is requested. */
  readonly previous: boolean;
}

export function logSource(status: ContainerStatus | undefined, target: LogTarget): LogSource {
  const name = `container ${goQuote(target.container)} in pod ${goQuote(target.pod)}`;
  const none = (why: string): LogSource => ({ kind: "none", why });
  if (status === undefined) return none(`${name} is not available`);
  const found = (id: string | undefined, otherwise: string): LogSource =>
    id === undefined || id === "" ? none(otherwise) : { kind: "container", id };
  const { running, terminated, waiting } = status.state ?? {};
  const last = status.lastState?.terminated;
  if (target.previous) return found(last?.containerID, `previous terminated ${name} not found`);
  if (running !== undefined) return { kind: "container", id: status.containerID ?? "" };
  // A container that was never created has no log; its previous run has one.
  if (terminated !== undefined) return found(terminated.containerID || last?.containerID, `${name} is terminated`);
  if (last !== undefined) return found(last.containerID, `${name} is terminated`);
  if (waiting === undefined) return none(`${name} is waiting to start - no logs yet`);
  return none(`${name} is waiting to start: ${pendingText(waiting.reason ?? "")}`);
}

function pendingText(reason: string): string {
  switch (reason) {
    case "ErrImagePull":
      return "image can't be pulled";
    case "ImagePullBackOff":
      return "trying and failing to pull image";
    default:
      return reason;
  }
}

/** The runtime's own ID of the container. */
export const runtimeId = (id: string): string => id.replace(/^[^:]*:\/\//, "");
