/** Pulls one image once, trying each credential until one succeeds, or anonymously if there are none. */
import { aggregate } from "../../base/go-text.ts";
import type { TokenBucket } from "../../concurrency/token-bucket.ts";
import { PULL_RATE_EXCEEDED, pullErrorText } from "../../domain/images/pull-messages.ts";
import { type ImageMetrics, imageSizeLabel } from "../../domain/metrics/image-metrics.ts";
import type { Image, ImageSpec, RegistryCredentials } from "../../domain/runtime/image.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Images } from "../../ports/images.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";
import type { PullOutcome } from "./pull-queue.ts";

export interface Pulled {
  readonly ref: string;
  /** Undefined if the runtime does not return it. */
  readonly image: Image | undefined;
  readonly pullMs: number;
}

export interface PullParts {
  readonly images: Pick<Images, "pullImage" | "imageStatus">;
  readonly clock: Clock;
  /** Undefined: pulls are not rate-limited. */
  readonly rate: TokenBucket | undefined;
  readonly imageMetrics?: Pick<ImageMetrics, "pulls">;
}

/** Rejects only with the signal's reason or because of a bug. */
export async function pullImage(
  spec: ImageSpec,
  sandbox: SandboxConfig,
  credentials: readonly RegistryCredentials[],
  { images, clock, rate, imageMetrics }: PullParts,
  signal: AbortSignal,
): Promise<PullOutcome<Pulled>> {
  if (rate?.tryTake() === false) return { kind: "failed", error: PULL_RATE_EXCEEDED };
  const startedMs = clock.monotonicMs();
  const errors: string[] = [];
  for (const each of credentials.length === 0 ? [undefined] : credentials) {
    try {
      const ref = await images.pullImage(spec, { sandbox, ...(each && { credentials: each }) }, signal);
      const image = await inspectImage(spec, images, signal);
      const pullMs = clock.monotonicMs() - startedMs;
      imageMetrics?.pulls.observe(pullMs / 1000, imageSizeLabel(Number(image?.sizeBytes ?? 0n)));
      return { kind: "pulled", pulled: { ref, image, pullMs } };
    } catch (error) {
      signal.throwIfAborted();
      if (!isRuntimeError(error)) throw error;
      errors.push(pullErrorText(error.code, error.detail));
    }
  }
  return { kind: "failed", error: aggregate(errors) };
}

/** The pull succeeded even if the image cannot be inspected. */
async function inspectImage(
  spec: ImageSpec,
  images: Pick<Images, "imageStatus">,
  signal: AbortSignal,
): Promise<Image | undefined> {
  try {
    return await images.imageStatus(spec, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!isRuntimeError(error)) throw error;
    return undefined;
  }
}
