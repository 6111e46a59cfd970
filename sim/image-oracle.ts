/** [9.10] Which images may be removed: those that nothing on the node uses, pins or keeps. Judged at each removal. */
import type { Pod } from "../src/api/gen/core-v1.ts";
import type { JournaledPods } from "./journaled-pods.ts";
import type { CallListener, PortCall } from "./port-calls.ts";
import type { SimNode } from "./sim-node.ts";
import type { Situation } from "./swarm/coverage.ts";

export interface ImageSight {
  readonly node: SimNode;
  /** The pods of the API server that are bound to the node. */
  readonly pods: () => readonly Pod[];
  readonly journaled: JournaledPods;
  readonly note: (situation: Situation) => void;
  readonly violation: (text: string) => void;
}

export class ImageOracle implements CallListener {
  /** How the names of images begin that the agent's rules keep. */
  kept: readonly string[] = [];
  readonly #sight: ImageSight;

  constructor(sight: ImageSight) {
    this.#sight = sight;
  }

  made({ who, name, target }: PortCall): void {
    const { node, note, violation } = this.#sight;
    if (who !== node.name || name !== "RemoveImage") return;
    const image = node.runtime.images.find(target);
    if (image === undefined) return;
    note("an image was removed");
    const what = image.tags[0] ?? image.id;
    if (image.pinned) violation(`[9.10] ${what} was removed although the runtime pins it`);
    if (this.kept.some((start) => image.tags.some((tag) => tag.startsWith(start))))
      violation(`[9.10] ${what} was removed although a rule keeps it`);
    const user = this.#userOf(image.id);
    if (user !== undefined) violation(`[9.10] ${what} was removed although ${user} uses it`);
  }

  #userOf(id: string): string | undefined {
    const { node, pods, journaled } = this.#sight;
    const { containers, images } = node.runtime;
    const container = [...containers.values()].find(({ imageId, state }) => imageId === id && state === "running");
    if (container !== undefined) return `container ${container.name}`;
    const user = pods().find((pod) => {
      const { isAdmitted, terminalMs, isFinished } = journaled.of(pod.metadata?.uid ?? "");
      const isOpen = isAdmitted && terminalMs === undefined && !isFinished;
      return isOpen && imagesOf(pod).some((name) => images.find(name)?.id === id);
    });
    return user === undefined ? undefined : `pod ${user.metadata?.name}`;
  }
}

const imagesOf = ({ spec }: Pod): readonly string[] => [
  ...[...(spec?.containers ?? []), ...(spec?.initContainers ?? []), ...(spec?.ephemeralContainers ?? [])].flatMap(
    ({ image }) => image ?? [],
  ),
  ...(spec?.volumes ?? []).flatMap(({ image }) => image?.reference ?? []),
];
