/** Decides with the pull policy whether an image that is already on the node may be used. */
import type { PresentImage, RefusedImage } from "../../domain/images/image-answer.ts";
import { inspectFailedText, neverPullText, presentText } from "../../domain/images/pull-messages.ts";
import { asksNode, decidePull } from "../../domain/images/pull-policy.ts";
import type { ImageSpec } from "../../domain/runtime/image.ts";
import type { Images } from "../../ports/images.ts";
import { isRuntimeError, rpcText } from "../../ports/runtime-error.ts";

export type EmitEvent = (type: "Normal" | "Warning", reason: string, message: string) => void;

/** Undefined: the image must be pulled. */
export async function imageOnNode(
  { image, policy, emit }: { readonly image: string; readonly policy: string; readonly emit: EmitEvent },
  spec: ImageSpec,
  images: Pick<Images, "imageStatus">,
  signal: AbortSignal,
): Promise<PresentImage | RefusedImage | undefined> {
  if (!asksNode(policy)) return undefined;
  try {
    const found = await images.imageStatus(spec, signal);
    const decision = decidePull(policy, found !== undefined);
    if (decision === "pull") return undefined;
    if (decision === "use" && found !== undefined) {
      emit("Normal", "Pulled", presentText(image));
      return { kind: "present", ref: found.id, image: found };
    }
    const message = neverPullText(image);
    emit("Warning", "ErrImageNeverPull", message);
    return refused("ErrImageNeverPull", message);
  } catch (error) {
    if (signal.aborted || !isRuntimeError(error)) throw error;
    const message = inspectFailedText(rpcText(error));
    emit("Warning", "InspectFailed", message);
    return refused("ImageInspectError", message);
  }
}

export const refused = (reason: string, message: string, retryMs?: number): RefusedImage => ({
  kind: "refused",
  reason,
  message,
  retryMs,
});
