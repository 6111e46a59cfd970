/**
 * Ensures that a container's image is on the node before the container is created. Meanwhile the waiting reason is kept
 * in the pod's state.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import type { PresentImage } from "../../domain/images/image-answer.ts";
import { imagePullBackOffText, isImageReason } from "../../domain/images/pull-messages.ts";
import { progressText, type UnderWay } from "../../domain/images/pull-progress.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import type { PodState } from "./pod-state.ts";
import { StartFailure } from "./start-failure.ts";
import type { PodWorkerPorts } from "./worker-options.ts";

type EmitEvent = (type: "Normal" | "Warning", reason: string, message: string) => void;

/** Rejects with a `StartFailure` or with the signal's reason. */
export async function ensureImage(
  { pod, container, sandbox }: { readonly pod: Pod; readonly container: Container; readonly sandbox: SandboxConfig },
  state: PodState,
  { pulls, clock }: Pick<PodWorkerPorts, "pulls" | "clock">,
  emit: EmitEvent,
  signal: AbortSignal,
): Promise<PresentImage | UnderWay> {
  const { name, image = "", imagePullPolicy: policy = "IfNotPresent" } = container;
  const answer = await pulls.ensure({ pod, requester: name, image, policy, sandbox, emit }, signal);
  switch (answer.kind) {
    case "present":
      return answer;
    case "underWay":
      noteProgress(container, answer.progress, state, clock.monotonicMs());
      return answer.progress;
    case "refused":
      emit("Warning", "Failed", `Error: ${answer.reason}`);
      throw new StartFailure(answer.reason, answer.message, answer.retryMs);
  }
}

/** Adds the progress to the current waiting reason: the last failure of this image or of the last start. */
function noteProgress({ name, image = "" }: Container, under: UnderWay, state: PodState, nowMonotonicMs: number): void {
  const progress = progressText(image, under, nowMonotonicMs);
  const before = state.containers.waiting.get(name);
  if (progress === undefined || progress === before?.progress) return;
  const { lastFailure } = under;
  if (lastFailure !== undefined) {
    state.containers.waiting.set(name, {
      reason: "ImagePullBackOff",
      message: imagePullBackOffText(image, lastFailure),
      progress,
    });
    return;
  }
  // An image failure without `lastFailure` concerns an image or credentials no longer in use: drop it.
  const isPast = before === undefined || isImageReason(before.reason);
  const { reason, message } = isPast ? { reason: "ContainerCreating", message: "" } : before;
  state.containers.waiting.set(name, { reason, message, progress });
}
