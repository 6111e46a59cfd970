/**
 * Pulls the images of a pod's image volumes. Images found present are remembered while the pod is on this node and are
 * not pulled again.
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import type { ImageAnswer, PresentImage } from "../../domain/images/image-answer.ts";
import { defaultImagePullPolicy } from "../../domain/images/pull-policy.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { EmitEvent } from "./node-image.ts";
import type { ImagePulls } from "./pulls.ts";

/**
 * Keyed by volume name; `mountableImages` says what the results mean for a container. Events are recorded for the pod,
 * not for a container.
 */
export async function ensureImageVolumes(
  pod: Pod,
  sandbox: SandboxConfig,
  { pulls, events }: { readonly pulls: Pick<ImagePulls, "ensure">; readonly events: EventSink },
  known: Map<string, PresentImage>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ImageAnswer>> {
  const subject = podSubject(pod);
  const answers = new Map<string, ImageAnswer>();
  for (const { name, image } of pod.spec?.volumes ?? []) {
    if (image === undefined) continue;
    const { reference = "", pullPolicy = defaultImagePullPolicy(reference) } = image;
    const emit: EmitEvent = (type, reason, message) => events.emit(subject, type, reason, message);
    const request = { pod, requester: requesterOf(name), image: reference, policy: pullPolicy, sandbox, emit };
    const answer = known.get(name) ?? (await pulls.ensure(request, signal));
    answers.set(name, answer);
    if (answer.kind === "present") known.set(name, answer);
  }
  return answers;
}

/** No container can have such a name. */
const requesterOf = (volume: string): string => `volume ${volume}`;
