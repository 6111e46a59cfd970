/** Events of a pod and of one of its containers. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { fieldPathOf, type RoledContainer } from "../../domain/pod/every-container.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { PodWorkerPorts } from "./worker-options.ts";

export type Tell = (type: "Normal" | "Warning", reason: string, message: string) => void;

export function teller(pod: Pod, roled: RoledContainer, { events }: Pick<PodWorkerPorts, "events">): Tell {
  const subject = { kind: "Pod", ...podNameOfObject(pod), fieldPath: fieldPathOf(roled) } as const;
  return (type, reason, message) => events.emit(subject, type, reason, message);
}

export const podTeller =
  (pod: Pod, { events }: Pick<PodWorkerPorts, "events">): Tell =>
  (type, reason, message) =>
    events.emit({ kind: "Pod", ...podNameOfObject(pod) }, type, reason, message);
