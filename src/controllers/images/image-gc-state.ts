/**
 * Reads what a plan of image removal is based on: the runtime's images and containers, the pods of this node, and the
 * space on the image filesystem. Rejects if the images or the containers cannot be read: without them nothing may be
 * removed.
 */
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import { type DiskUsage, type ImageGcState, type ImageRecords, seenImages } from "../../domain/images/image-gc.ts";
import { containerUse, type ImageUse, podUse, usersOf } from "../../domain/images/image-use.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { Container, ContainerMount } from "../../domain/runtime/container.ts";
import type { Image } from "../../domain/runtime/image.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Images } from "../../ports/images.ts";
import type { Machine } from "../../ports/machine.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";

export interface ImageGcReading {
  readonly images: Pick<Images, "listImages" | "imageFilesystems">;
  readonly runtime: Pick<Runtime, "listContainers" | "containerStatus">;
  readonly machine: Pick<Machine, "filesystem">;
  readonly clock: Clock;
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
  readonly podRuntimeStatus: ReadonlyTable<string, PodRuntimeView>;
  readonly unreachableRegistries: Latest<ReadonlySet<string>>;
  readonly imageRecords: Latest<ImageRecords>;
}

export interface ImagesOnNode {
  readonly images: readonly Image[];
  readonly uses: readonly ImageUse[];
}

export async function readImages(parts: ImageGcReading, signal: AbortSignal): Promise<ImagesOnNode> {
  const { runtime, podRuntimeStatus } = parts;
  const images = await parts.images.listImages({}, signal);
  const mounts = new Map(
    podRuntimeStatus
      .keys()
      .flatMap((uid) => podRuntimeStatus.get(uid)?.containers ?? [])
      .map((container) => [container.id, container.mounts] as const),
  );
  const uses: ImageUse[] = [];
  for (const container of await runtime.listContainers({}, signal)) {
    uses.push(containerUse(container, mounts.get(container.id) ?? (await mountsOf(container, runtime, signal))));
  }
  return { images, uses };
}

/** The mounts of a container that no pod's inspection has shown yet. */
async function mountsOf(
  { id }: Container,
  runtime: Pick<Runtime, "containerStatus">,
  signal: AbortSignal,
): Promise<readonly ContainerMount[]> {
  try {
    return (await runtime.containerStatus(id, { verbose: false }, signal)).status.mounts;
  } catch (error) {
    if (isRuntimeError(error) && error.code === "notFound") return [];
    throw error;
  }
}

/** The pods may have changed since the images were read: they count as they are now. */
export function stateOf(
  { images, uses }: ImagesOnNode,
  disk: DiskUsage | undefined,
  { admittedPods, podOutcomes, unreachableRegistries, imageRecords, clock }: ImageGcReading,
): ImageGcState {
  const pods = admittedPods.keys().flatMap((uid) => {
    const admitted = admittedPods.get(uid);
    return admitted === undefined ? [] : podUse(admitted, podOutcomes.get(uid));
  });
  const users = usersOf(images, [...uses, ...pods]);
  const nowMs = clock.monotonicMs();
  const records = seenImages(imageRecords.value, { images, users, nowMs });
  return { images, records, users, unreachableRegistries: unreachableRegistries.value, disk, nowMs };
}

export interface ImageFilesystem extends DiskUsage {
  readonly path: string;
}

/** Rejects if the runtime names no image filesystem or its usage cannot be read. */
export async function readImageFilesystem(
  { images, machine }: Pick<ImageGcReading, "images" | "machine">,
  signal: AbortSignal,
): Promise<ImageFilesystem> {
  const path = (await images.imageFilesystems(signal)).images[0]?.mountpoint;
  if (path === undefined) throw new Error("the container runtime reports no image filesystem");
  const { capacityBytes, availableBytes } = await machine.filesystem(path);
  return { path, capacityBytes, availableBytes };
}
