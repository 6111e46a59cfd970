/**
 * An empty directory for the pod: on the node's disk, in memory, or on huge pages. The pod owns its content, so the
 * directory is set up only once.
 */
import type { Pod, Volume } from "../../../api/gen/core-v1.ts";
import { hugepageVolumeSize, isHugepageMedium, memoryVolumeBytes } from "../../../domain/volumes/memory-volume.ts";
import { type PlanContext, refused, type SetUpVolume, type SetUpWork, type VolumePlugin } from "../plugin.ts";
import { applyFsGroup, isMounted, makeOwnDirectory, markReady, mountMemory, mountOnce } from "../set-up.ts";

/** Undefined: on the node's disk. */
type Mount = ((work: SetUpWork) => Promise<unknown>) | undefined;

export const emptyDirPlugin: VolumePlugin = {
  name: "empty-dir",
  sources: ["emptyDir"],
  persistentSources: [],
  content: "own",
  holdsFiles: true,
  ownsMount: (type) => type === "tmpfs" || type === "hugetlbfs",
  plan({ pod, volume }, context) {
    const medium = mediumOf(pod, volume, context);
    return medium.kind === "refused"
      ? refused(medium.message)
      : { kind: "planned", setUp: (work) => setUp(work, medium.mount) };
  },
};

type Medium =
  | { readonly kind: "medium"; readonly mount: Mount }
  | { readonly kind: "refused"; readonly message: string };

function mediumOf(pod: Pod, volume: Volume, { allocatableMemoryBytes }: PlanContext): Medium {
  const medium = volume.emptyDir?.medium ?? "";
  if (medium === "") return { kind: "medium", mount: undefined };
  if (medium === "Memory") {
    const sizeBytes = memoryVolumeBytes(pod, volume, allocatableMemoryBytes);
    return { kind: "medium", mount: (work) => mountMemory(work, sizeBytes) };
  }
  if (!isHugepageMedium(medium)) return { kind: "refused", message: `unknown storage medium "${medium}"` };
  const size = hugepageVolumeSize(pod, medium);
  if (size.kind === "refused") return size;
  return {
    kind: "medium",
    mount: (work) => mountOnce(work, () => work.ports.mounts.mountHugepages(work.path, size.text, work.signal)),
  };
}

async function setUp(work: SetUpWork, mount: Mount): Promise<SetUpVolume> {
  const { path, readyFileDirectory } = work;
  const { files } = work.ports;
  const isReady = (await files.facts(`${readyFileDirectory}/ready`)) !== undefined;
  const isThere = mount === undefined ? (await files.facts(path)) !== undefined : await isMounted(work);
  if (!isReady || !isThere) {
    // The ready file of lost content, for example in memory, is not valid for the new directory.
    if (isReady) await files.removeTree(readyFileDirectory);
    await makeOwnDirectory(work);
    await mount?.(work);
  }
  // Before the volume has content. For a volume of an earlier kubelet process this finds its project again.
  const project = mount === undefined ? await work.quotas?.assign(work.pod, path, work.signal) : undefined;
  if (!isReady || !isThere) {
    await applyFsGroup(work, { readOnly: false });
    await markReady(work);
  }
  const measured = {
    how: "walk",
    once: false,
    ephemeral: mount === undefined,
    ...(project === undefined ? {} : { project }),
  } as const;
  return { path, readOnly: false, selinuxRelabel: true, measured };
}
