/** The images in a node's status, for the scheduler. */
import type { ContainerImage } from "../../api/gen/core-v1.ts";
import type { Image } from "../runtime/image.ts";

const NAMES_MAX = 5;

/** Largest first; `imagesMax` of -1 means all of them. */
export function reportedImages(images: readonly Image[], imagesMax: number): readonly ContainerImage[] {
  const sorted = images.toSorted(bySize);
  return (imagesMax < 0 ? sorted : sorted.slice(0, imagesMax)).map(reported);
}

function reported({ digests, tags, sizeBytes }: Image): ContainerImage {
  const names = [...digests, ...tags].slice(0, NAMES_MAX);
  return { names, ...(sizeBytes === 0n ? {} : { sizeBytes: Number(sizeBytes) }) };
}

/** Images of the same size are sorted by ID, so that the order is stable. */
function bySize(a: Image, b: Image): number {
  if (a.sizeBytes !== b.sizeBytes) return a.sizeBytes > b.sizeBytes ? -1 : 1;
  if (a.id === b.id) return 0;
  return a.id > b.id ? -1 : 1;
}
