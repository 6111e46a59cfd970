import type { Pod, Volume } from "../../api/gen/core-v1.ts";
import { allContainers } from "../pod/containers.ts";

/** The volumes that some container uses; the others are not set up. */
export function usedVolumes({ spec }: Pod): readonly Volume[] {
  const used = new Set(
    allContainers(spec).flatMap(({ volumeMounts, volumeDevices }) =>
      [...(volumeMounts ?? []), ...(volumeDevices ?? [])].map(({ name }) => name),
    ),
  );
  return (spec?.volumes ?? []).filter(({ name }) => used.has(name));
}
