/**
 * The API server's status of a pod's containers, published by any kubelet. It counts only for the exact instance that
 * it describes.
 */
import type { ContainerStatus, PodStatus } from "../../api/gen/core-v1.ts";
import { type PodContainer, restartCountOf } from "./runtime-view.ts";

export const describesInstance = <T extends Pick<ContainerStatus, "containerID">>(
  published: T | undefined,
  id: string,
): published is T => published?.containerID?.endsWith(`://${id}`) === true;

export const publishedStatusOf = (status: PodStatus | undefined, id: string): ContainerStatus | undefined =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find((each) =>
    describesInstance(each, id),
  );

/**
 * The restart count annotated on the container, or the published count if that is higher. If the runtime no longer has
 * the earlier instances, the Go kubelet continues from its last published count without annotating it. A restart count
 * never decreases.
 */
export const restartsOf = (container: PodContainer, reported: PodStatus | undefined): number =>
  Math.max(restartCountOf(container), publishedStatusOf(reported, container.id)?.restartCount ?? 0);
