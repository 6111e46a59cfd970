/**
 * ConfigMap, Secret, downward API and projected volumes: the kubelet writes their files. All except ConfigMap volumes
 * are kept in memory.
 */
import type { Volume } from "../../../api/gen/core-v1.ts";
import { memoryVolumeBytes } from "../../../domain/volumes/memory-volume.ts";
import type { SetUpWork, VolumePlugin } from "../plugin.ts";
import { applyFsGroupToRoot, makeOwnDirectory, markReady, mountMemory } from "../set-up.ts";

export const configMapPlugin = onDisk("configmap", "configMap");
export const secretPlugin = inMemory("secret", "secret");
export const downwardApiPlugin = inMemory("downward-api", "downwardAPI");
export const projectedPlugin = inMemory("projected", "projected");

function onDisk(name: string, source: keyof Volume): VolumePlugin {
  return {
    name,
    sources: [source],
    persistentSources: [],
    content: "written",
    holdsFiles: true,
    ownsMount: () => false,
    plan: () => ({ kind: "planned", setUp: (work) => setUp(work, { ephemeral: true }, async () => {}) }),
  };
}

function inMemory(name: string, source: keyof Volume): VolumePlugin {
  return {
    ...onDisk(name, source),
    ownsMount: (type) => type === "tmpfs",
    plan({ pod, volume }, { allocatableMemoryBytes }) {
      const sizeBytes = memoryVolumeBytes(pod, volume, allocatableMemoryBytes);
      return {
        kind: "planned",
        setUp: (work) => setUp(work, { ephemeral: false }, () => mountMemory(work, sizeBytes)),
      };
    },
  };
}

/** Sets up the directory completely before the first file is written. */
async function setUp(work: SetUpWork, { ephemeral }: { readonly ephemeral: boolean }, mount: () => Promise<void>) {
  await makeOwnDirectory(work);
  await mount();
  await applyFsGroupToRoot(work);
  await markReady(work);
  // Only the kubelet writes into the volume, and the Go kubelet measures it once.
  const measured = { how: "walk", once: true, ephemeral } as const;
  return { path: work.path, readOnly: true, selinuxRelabel: true, measured };
}
