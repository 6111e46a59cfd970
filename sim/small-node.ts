/** Makes the machine of a node so small that its pods can use up its memory, its process IDs or its disk. */
import type { SimNode } from "./sim-node.ts";

export interface SmallNode {
  /** What is left for containers. Undefined: as much as other machines have. */
  readonly freeMemoryBytes?: number | undefined;
  readonly freeProcessIds?: number | undefined;
  /** The size of the only file system, on which images and writable layers use space. */
  readonly diskBytes?: number | undefined;
  /** How many images there are that no pod uses. */
  readonly unusedImages?: number;
  /** An image that no pod uses and the agent must keep. */
  readonly keptImage?: string;
}

const IMAGE_BYTES = BigInt(20 * 2 ** 20);

export function makeSmall(node: SimNode, small: SmallNode): void {
  const { freeMemoryBytes, freeProcessIds, diskBytes, unusedImages = 0, keptImage } = small;
  const { machine, runtime } = node;
  if (freeMemoryBytes !== undefined) machine.workingSetBytes = machine.machine.memoryBytes - BigInt(freeMemoryBytes);
  if (freeProcessIds !== undefined) machine.processes = machine.machine.pidsMax - freeProcessIds;
  if (diskBytes !== undefined) limitDisk(node, BigInt(diskBytes));
  for (let index = 0; index < unusedImages; index += 1)
    runtime.images.load(`unused-${index}`, { image: { sizeBytes: IMAGE_BYTES } });
  if (keptImage !== undefined) runtime.images.load(keptImage);
}

function limitDisk({ machine, runtime }: SimNode, capacityBytes: bigint): void {
  const used = () =>
    runtime.images.list().reduce((sum, { sizeBytes }) => sum + sizeBytes, BigInt(runtime.use.layerBytes));
  machine.filesystems.set("/", {
    device: "1",
    capacityBytes,
    get availableBytes() {
      return used() < capacityBytes ? capacityBytes - used() : 0n;
    },
    inodes: 1_000_000n,
    inodesFree: 900_000n,
  });
}
