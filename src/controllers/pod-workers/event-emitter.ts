/** Emits events about a pod or one of its containers. */

import type { Pod } from "../../api/gen/core-v1.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import { type ContainerSpec, fieldPathOf } from "../../domain/pod/containers.ts";
import type { PodWorkerPorts } from "./worker-options.ts";

export type EmitEvent = (type: "Normal" | "Warning", reason: string, message: string) => void;

export function containerEventEmitter(
  pod: Pod,
  containerSpec: ContainerSpec,
  { events }: Pick<PodWorkerPorts, "events">,
): EmitEvent {
  const subject = podSubject(pod, fieldPathOf(containerSpec));
  return (type, reason, message) => events.emit(subject, type, reason, message);
}

export const podEventEmitter =
  (pod: Pod, { events }: Pick<PodWorkerPorts, "events">): EmitEvent =>
  (type, reason, message) =>
    events.emit(podSubject(pod), type, reason, message);
