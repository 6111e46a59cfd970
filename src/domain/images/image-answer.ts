/** The result of requesting an image, and what it means for a container that mounts image volumes. */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import type { Image, ImageSpec } from "../runtime/image.ts";
import type { UnderWay } from "./pull-progress.ts";

export interface PresentImage {
  readonly kind: "present";
  /** The reference that is passed to the runtime from now on. */
  readonly ref: string;
  readonly image: Image | undefined;
}

export interface RefusedImage {
  readonly kind: "refused";
  /** The waiting reason of the container. */
  readonly reason: string;
  readonly message: string;
  /** An earlier retry is useless. */
  readonly retryMs: number | undefined;
}

export type ImageAnswer = PresentImage | { readonly kind: "underWay"; readonly progress: UnderWay } | RefusedImage;

export type MountableImages =
  /** By the name of the volume, as mounts pass the images to the runtime. */
  | { readonly kind: "ready"; readonly specs: ReadonlyMap<string, ImageSpec> }
  | { readonly kind: "underWay"; readonly progress: UnderWay }
  /** Each refusal is reported; the last one is the reason for which the container waits. */
  | { readonly kind: "refused"; readonly all: readonly RefusedImage[]; readonly last: RefusedImage };

/** Selects from `answers`, by volume, the images that this container mounts. Other images do not block it. */
export function mountableImages(
  pod: Pod,
  container: Container,
  answers: ReadonlyMap<string, ImageAnswer>,
): MountableImages {
  const specs = new Map<string, ImageSpec>();
  const refused: RefusedImage[] = [];
  let progress: UnderWay | undefined;
  for (const { name } of container.volumeMounts ?? []) {
    const answer = answers.get(name);
    if (answer?.kind === "present") specs.set(name, volumeSpec(pod, name, answer));
    else if (answer?.kind === "underWay") progress = answer.progress;
    else if (answer !== undefined) refused.push(answer);
  }
  const last = refused.at(-1);
  if (last !== undefined) return { kind: "refused", all: refused, last };
  return progress === undefined ? { kind: "ready", specs } : { kind: "underWay", progress };
}

const volumeSpec = (pod: Pod, volume: string, { ref }: PresentImage): ImageSpec => ({
  image: ref,
  userSpecifiedImage: pod.spec?.volumes?.find(({ name }) => name === volume)?.image?.reference ?? "",
  annotations: { ...pod.metadata?.annotations },
});
