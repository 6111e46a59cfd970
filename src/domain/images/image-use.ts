/**
 * Which of the node's images are in use, and by whom. An image counts as used if any of its names may be meant: keeping
 * one image too many costs disk space, removing one in use costs a pod.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { POD_NAME_LABEL, POD_NAMESPACE_LABEL } from "../container-config/cri-keys.ts";
import type { AdmittedPod } from "../pod/admitted-pod.ts";
import type { PodOutcome } from "../pod/pod-outcome.ts";
import { containerNameOf, podUidOf } from "../pod/runtime-view.ts";
import type { Container, ContainerMount } from "../runtime/container.ts";
import type { Image } from "../runtime/image.ts";
import { parseImageName, pullableName } from "./image-name.ts";

export interface ImageUse {
  /** For people, such as "pod default/web". */
  readonly by: string;
  /** IDs, names or digests of images. */
  readonly references: readonly string[];
}

/** The first user of each image in use, by image ID. */
export function usersOf(images: readonly Image[], uses: readonly ImageUse[]): ReadonlyMap<string, string> {
  const ids = idsByReference(images);
  const users = new Map<string, string>();
  for (const { by, references } of uses) {
    for (const id of references.flatMap((reference) => idsOf(reference, ids))) {
      if (!users.has(id)) users.set(id, by);
    }
  }
  return users;
}

/** Image IDs by everything that names an image exactly: its ID, its tags and its digests. */
type IdsByReference = ReadonlyMap<string, readonly string[]>;

function idsByReference(images: readonly Image[]): IdsByReference {
  const ids = new Map<string, string[]>();
  for (const { id, tags, digests } of images) {
    for (const reference of new Set([id, withoutAlgorithm(id), ...tags, ...digests])) {
      const known = ids.get(reference);
      if (known === undefined) ids.set(reference, [id]);
      else known.push(id);
    }
  }
  return ids;
}

const withoutAlgorithm = (id: string): string => id.replace(/^sha256:/, "");

function idsOf(reference: string, ids: IdsByReference): readonly string[] {
  const exact = ids.get(reference);
  if (exact !== undefined) return exact;
  const parsed = parseImageName(reference);
  if (parsed.kind === "invalid") return [];
  const { repository, tag = "latest", digest } = parsed.name;
  const complete = ids.get(digest === undefined ? `${repository}:${tag}` : `${repository}@${digest}`);
  const registry = repository.slice(0, repository.indexOf("/") + 1);
  if (complete !== undefined || reference.startsWith(registry)) return complete ?? [];
  // The runtime completes a name without a registry by rules of its own configuration: any registry may be meant.
  const short = digest === undefined ? pullableName(reference, parsed.name) : `${untagged(reference)}@${digest}`;
  return [...ids].flatMap(([key, found]) => (key.endsWith(`/${short}`) ? found : []));
}

/** The name without its tag and digest. */
export const untagged = (name: string): string => name.replace(/@.*$/, "").replace(/:[^:/]*$/, "");

/** The images that a pod's containers and image volumes name. */
export function imagesOfPod({ spec }: Pod): readonly string[] {
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  const volumes = spec?.volumes ?? [];
  return [...containers.map(({ image }) => image), ...volumes.map(({ image }) => image?.reference)].flatMap((name) =>
    name === undefined || name === "" ? [] : [name],
  );
}

/** Pods that are bound to this node and have not finished need their images, whether a container exists or not. */
export const podUse = (
  { pod, verdict }: Pick<AdmittedPod, "pod" | "verdict">,
  outcome: Pick<PodOutcome, "lifecycle"> | undefined,
): readonly ImageUse[] =>
  verdict.kind === "rejected" || outcome?.lifecycle.kind === "finished"
    ? []
    : [{ by: `pod ${pod.metadata?.namespace}/${pod.metadata?.name}`, references: imagesOfPod(pod) }];

/** A container that exists uses its image and those of its image volumes, also after it has exited. */
export const containerUse = (
  container: Pick<Container, "id" | "metadata" | "labels" | "image" | "imageRef" | "imageId">,
  mounts: readonly ContainerMount[],
): ImageUse => ({
  by: `container ${nameOf(container)}`,
  references: [
    container.imageId,
    container.imageRef,
    container.image.image,
    ...mounts.flatMap(({ image }) => (image === undefined ? [] : [image.image])),
  ].filter((reference) => reference !== ""),
});

const nameOf = (container: Pick<Container, "id" | "metadata" | "labels">): string =>
  podUidOf(container) === undefined
    ? container.id
    : [container.labels[POD_NAMESPACE_LABEL], container.labels[POD_NAME_LABEL], containerNameOf(container)].join("/");
