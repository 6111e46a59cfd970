import type { Pod, Volume } from "../../api/gen/core-v1.ts";
import { everyContainer } from "../pod/every-container.ts";

/** The volumes that some container uses; the others are not set up. */
export function usedVolumes({ spec }: Pod): readonly Volume[] {
  const used = new Set(
    everyContainer(spec).flatMap(({ volumeMounts, volumeDevices }) =>
      [...(volumeMounts ?? []), ...(volumeDevices ?? [])].map(({ name }) => name),
    ),
  );
  return (spec?.volumes ?? []).filter(({ name }) => used.has(name));
}
