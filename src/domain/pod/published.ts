/** What the API server holds of a pod's containers, by whichever kubelet it was told: it counts for the very instance that it was told of, and for no other. */
import type { ContainerStatus, PodStatus } from "../../api/gen/core-v1.ts";
import { type PodContainer, restartCountOf } from "./runtime-view.ts";

export const tellsOf = <T extends Pick<ContainerStatus, "containerID">>(
  published: T | undefined,
  id: string,
): published is T => published?.containerID?.endsWith(`://${id}`) === true;

export const publishedOf = (status: PodStatus | undefined, id: string): ContainerStatus | undefined =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find((each) => tellsOf(each, id));

/**
 * As written on the container, or as told of it if that is more: where the runtime has forgotten those before it, the Go kubelet counts on from what it told last
 * without writing it on the container. A count does not go down.
 */
export const restartsOf = (container: PodContainer, told: PodStatus | undefined): number =>
  Math.max(restartCountOf(container), publishedOf(told, container.id)?.restartCount ?? 0);
