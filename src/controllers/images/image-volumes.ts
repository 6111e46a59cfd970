/** Has on the node what a pod mounts as image volumes. What is there is remembered for the pod's life here: its images are not pulled again. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { ImageAnswer, PresentImage } from "../../domain/images/image-answer.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import { defaultImagePullPolicy } from "../../domain/static-pods/image-tag.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Tell } from "./node-image.ts";
import type { ImagePulls } from "./pulls.ts";

/** By the volume's name; `mountableImages` says what they mean for a container. Events are the pod's, not a container's. */
export async function ensureImageVolumes(
  pod: Pod,
  sandbox: SandboxConfig,
  { pulls, events }: { readonly pulls: Pick<ImagePulls, "ensure">; readonly events: EventSink },
  known: Map<string, PresentImage>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ImageAnswer>> {
  const subject = { kind: "Pod", ...podNameOfObject(pod) } as const;
  const answers = new Map<string, ImageAnswer>();
  for (const { name, image } of pod.spec?.volumes ?? []) {
    if (image === undefined) continue;
    const { reference = "", pullPolicy = defaultImagePullPolicy(reference) } = image;
    const tell: Tell = (type, reason, message) => events.emit(subject, type, reason, message);
    const request = { pod, asker: askerOf(name), image: reference, policy: pullPolicy, sandbox, tell };
    const answer = known.get(name) ?? (await pulls.ensure(request, signal));
    answers.set(name, answer);
    if (answer.kind === "present") known.set(name, answer);
  }
  return answers;
}

/** No container has a name like this. */
const askerOf = (volume: string): string => `volume ${volume}`;
