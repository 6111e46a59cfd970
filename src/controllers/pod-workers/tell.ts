/** Emits events about a pod or one of its containers. */

import type { Pod } from "../../api/gen/core-v1.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import { fieldPathOf, type RoledContainer } from "../../domain/pod/every-container.ts";
import type { PodWorkerPorts } from "./worker-options.ts";

export type Tell = (type: "Normal" | "Warning", reason: string, message: string) => void;

export function teller(pod: Pod, roled: RoledContainer, { events }: Pick<PodWorkerPorts, "events">): Tell {
  const subject = podSubject(pod, fieldPathOf(roled));
  return (type, reason, message) => events.emit(subject, type, reason, message);
}

export const podTeller =
  (pod: Pod, { events }: Pick<PodWorkerPorts, "events">): Tell =>
  (type, reason, message) =>
    events.emit(podSubject(pod), type, reason, message);
