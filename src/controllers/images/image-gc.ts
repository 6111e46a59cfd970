/**
 * Removes unused images: every five minutes by their age and while the image filesystem is too full, and all of them
 * when the eviction controller requests it. Nothing is removed before every source has delivered its pods. Each removal
 * follows a new plan, so an image that a new pod needs meanwhile stays.
 */

import { unlessShutDown } from "../../concurrency/abort.ts";
import { inSpan } from "../../concurrency/in-span.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import { waitForValue } from "../../concurrency/wait-for-value.ts";
import { nodeSubject } from "../../domain/events/recorded-event.ts";
import type { ReclaimReport, ReclaimRequests } from "../../domain/eviction/reclaim.ts";
import {
  type Deletion,
  type DiskUsage,
  type ImageGcPlan,
  type ImageGcPolicy,
  type ImageGcProgress,
  type ImageGcTrigger,
  type ImageRecords,
  imageGcIsOff,
  imageGcPlan,
  NOTHING_FREED,
} from "../../domain/images/image-gc.ts";
import {
  ageErrorText,
  deletionText,
  EVERYTHING_BYTES,
  INVALID_CAPACITY,
  imageText,
  noSpaceText,
  spaceErrorText,
  withKeptImages,
} from "../../domain/images/image-gc-messages.ts";
import type { ImageMetrics } from "../../domain/metrics/image-metrics.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Images } from "../../ports/images.ts";
import type { Log } from "../../ports/log.ts";
import { rpcText } from "../../ports/runtime-error.ts";
import type { Tracer } from "../../ports/tracer.ts";
import { type ImageGcReading, type ImagesOnNode, readImageFilesystem, readImages, stateOf } from "./image-gc-state.ts";

export interface ImageGcOptions extends ImageGcReading {
  readonly images: Pick<Images, "listImages" | "imageFilesystems" | "removeImage">;
  readonly tracer: Tracer;
  readonly log: Log;
  readonly events: EventSink;
  readonly nodeName: string;
  readonly policy: ImageGcPolicy;
  readonly imageMetrics: Pick<ImageMetrics, "collected">;
  readonly sourcesReady: Latest<boolean>;
  readonly reclaimRequests: Latest<Pick<ReclaimRequests, "images">>;
  readonly imagesReclaimed: LatestCell<ReclaimReport>;
  readonly imageRecords: LatestCell<ImageRecords>;
}

const EVERY_MS = 300_000;
/** Scope name of the Go kubelet's image GC in traces. */
const SCOPE = "k8s.io/kubernetes/pkg/kubelet/images";

export async function collectImages(options: ImageGcOptions, shutdown: AbortSignal): Promise<void> {
  const { clock, sourcesReady, reclaimRequests, imagesReclaimed } = options;
  await unlessShutDown(shutdown, async () => {
    await waitForValue(sourcesReady, (ready) => ready, shutdown);
    let dueMs = clock.monotonicMs();
    let hasFailed = false;
    while (!shutdown.aborted) {
      const seen = reclaimRequests.version;
      const { images: number } = reclaimRequests.value;
      if (number > imagesReclaimed.value.number) {
        imagesReclaimed.set({ number, ...(await reclaim(options, shutdown)) });
      }
      if (clock.monotonicMs() >= dueMs) {
        dueMs = clock.monotonicMs() + EVERY_MS;
        if (imageGcIsOff(options.policy)) await observe(options, shutdown);
        else hasFailed = !(await collectPeriodically(options, hasFailed, shutdown));
      }
      const cells = [{ cell: reclaimRequests, seen }];
      await waitForChange(clock, cells, Math.max(0, dueMs - clock.monotonicMs()), shutdown);
    }
  });
}

/** Returns whether it succeeded. The first failure in a row is only logged, as in the Go kubelet. */
async function collectPeriodically(
  options: ImageGcOptions,
  hasFailed: boolean,
  shutdown: AbortSignal,
): Promise<boolean> {
  const { log, events, nodeName, tracer } = options;
  const span = { scope: SCOPE, name: "Images/GarbageCollect", parent: "none" } as const;
  try {
    await inSpan(tracer, span, () => collect(options, shutdown));
    log.info(hasFailed ? 1 : 4, "Image garbage collection succeeded");
    return true;
  } catch (error) {
    if (shutdown.aborted) throw error;
    if (hasFailed) {
      log.error("Image garbage collection failed multiple times in a row", error);
      events.emit(nodeSubject(nodeName), "Warning", "ImageGCFailed", rpcText(error));
    } else {
      log.error("Image garbage collection failed once. Stats initialization may not have completed yet", error);
    }
    return false;
  }
}

/** Eviction needs the age of the images although none is removed periodically. */
async function observe(options: ImageGcOptions, signal: AbortSignal): Promise<void> {
  try {
    options.imageRecords.set(stateOf(await readImages(options, signal), undefined, options).records);
  } catch (error) {
    signal.throwIfAborted();
    options.log.info(0, "Failed to monitor images", { err: rpcText(error) });
  }
}

/** Throws an error with everything that failed, in the Go kubelet's words. */
async function collect(options: ImageGcOptions, signal: AbortSignal): Promise<void> {
  const { events, nodeName, policy } = options;
  const found = await readImages(options, signal);
  const disk = await readImageFilesystem(options, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    return { unknown: error };
  });
  const isKnown = !("unknown" in disk);
  const { plan, progress, errors } = await carryOut(found, isKnown ? disk : undefined, "periodic", options, signal);
  if (errors.age.length > 0) throw new Error(ageErrorText(policy.ageMsMax, errors.age));
  if (!isKnown) throw disk.unknown;
  const node = nodeSubject(nodeName);
  if (disk.capacityBytes === 0n) {
    events.emit(node, "Warning", "InvalidDiskCapacity", INVALID_CAPACITY);
    throw new Error(INVALID_CAPACITY);
  }
  const { freedBytes, freedByAgeBytes } = progress;
  if (errors.space.length > 0) throw new Error(spaceErrorText(plan.wantedBytes, freedBytes, errors.space));
  if (plan.shortBytes === 0n) return;
  const text = noSpaceText(plan, disk, freedBytes);
  const isNothingFreed = freedBytes + freedByAgeBytes === 0n;
  const message = isNothingFreed ? withKeptImages(text, plan.kept, policy) : text;
  events.emit(node, "Warning", "FreeDiskSpaceFailed", message);
  throw new Error(message);
}

/** Removes every image that may be removed. */
async function reclaim(options: ImageGcOptions, signal: AbortSignal): Promise<Omit<ReclaimReport, "number">> {
  const { log } = options;
  log.info(0, "Attempting to delete unused images");
  try {
    const found = await readImages(options, signal);
    const { progress, errors } = await carryOut(found, undefined, "eviction", options, signal);
    const { freedBytes } = progress;
    const failed = errors.space.length > 0;
    return { freedBytes, error: failed ? spaceErrorText(EVERYTHING_BYTES, freedBytes, errors.space) : undefined };
  } catch (error) {
    signal.throwIfAborted();
    log.error("Failed to delete unused images", error);
    return { freedBytes: 0n, error: rpcText(error) };
  }
}

interface Outcome {
  /** What is left to do: nothing, and why each remaining image stays. */
  readonly plan: ImageGcPlan;
  readonly progress: ImageGcProgress;
  readonly errors: { readonly age: readonly string[]; readonly space: readonly string[] };
}

/** Removes the first image of the plan and plans again, until the plan removes none. */
async function carryOut(
  { images, uses }: ImagesOnNode,
  disk: DiskUsage | undefined,
  trigger: ImageGcTrigger,
  options: ImageGcOptions,
  signal: AbortSignal,
): Promise<Outcome> {
  const { policy, imageRecords } = options;
  let left = images;
  let progress = NOTHING_FREED;
  const errors = { age: [] as string[], space: [] as string[] };
  for (;;) {
    const state = stateOf({ images: left, uses }, disk, options);
    imageRecords.set(state.records);
    const plan = imageGcPlan(state, policy, trigger, progress);
    const [next] = plan.deletions;
    if (next === undefined) return { plan, progress, errors };
    const { id } = next.image;
    const error = await remove(next, options, signal);
    if (error === undefined) {
      left = left.filter((image) => image.id !== id);
      progress = freed(progress, next);
    } else {
      errors[next.reason === "age" ? "age" : "space"].push(error);
      progress = { ...progress, failed: new Map([...progress.failed, [id, error]]) };
    }
  }
}

function freed(progress: ImageGcProgress, { image, reason }: Deletion): ImageGcProgress {
  const { freedByAgeBytes, freedBytes } = progress;
  return reason === "age"
    ? { ...progress, freedByAgeBytes: freedByAgeBytes + image.sizeBytes }
    : { ...progress, freedBytes: freedBytes + image.sizeBytes };
}

/** Returns the error if the image could not be removed. */
async function remove(
  deletion: Deletion,
  { images, log, policy, imageMetrics }: ImageGcOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { image, reason } = deletion;
  const { id, sizeBytes, spec } = image;
  log.info(0, "Removing image to free bytes", {
    imageID: id,
    image: imageText(image),
    size: String(sizeBytes),
    reason: deletionText(deletion, policy),
  });
  const handler = spec?.runtimeHandler;
  try {
    await images.removeImage({ image: id, ...(handler && { runtimeHandler: handler }) }, signal);
    imageMetrics.collected.add(1, reason === "age" ? "age" : "space");
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    log.error("Failed to remove image", error, { imageID: id, image: imageText(image) });
    return rpcText(error);
  }
}
