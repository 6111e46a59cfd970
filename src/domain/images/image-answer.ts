/** What becomes of the wish for an image, and what that means for a container that mounts some. */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import type { Image, ImageSpec } from "../runtime/image.ts";
import type { UnderWay } from "./pull-progress.ts";

export interface PresentImage {
  readonly kind: "present";
  /** What the runtime is asked for from now on. */
  readonly ref: string;
  readonly image: Image | undefined;
}

export interface RefusedImage {
  readonly kind: "refused";
  /** Of the container that waits. */
  readonly reason: string;
  readonly message: string;
  /** No use in asking before. */
  readonly retryMs: number | undefined;
}

export type ImageAnswer = PresentImage | { readonly kind: "underWay"; readonly progress: UnderWay } | RefusedImage;

export type MountableImages =
  /** By the name of the volume, as a mount names them to the runtime. */
  | { readonly kind: "ready"; readonly specs: ReadonlyMap<string, ImageSpec> }
  | { readonly kind: "underWay"; readonly progress: UnderWay }
  /** Each is told of; the last one is why the container waits. */
  | { readonly kind: "refused"; readonly all: readonly RefusedImage[]; readonly last: RefusedImage };

/** Of the images in `answers`, by volume, those that this container mounts. One that it does not mount does not hold it up. */
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
