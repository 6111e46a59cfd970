/** When a claim and its volume have found each other: from then on neither changes in what a node needs of it. */
import type { PersistentVolume, PersistentVolumeClaim } from "../../api/gen/core-v1.ts";

/** Undefined until the claim is bound. */
export function boundVolumeName({ spec, status }: PersistentVolumeClaim): string | undefined {
  const name = spec?.volumeName ?? "";
  return status?.phase === "Bound" && name !== "" ? name : undefined;
}

/** Whether the volume knows whose it is. It is written before its claim, but may be read from a server that lags behind. */
export const isClaimed = ({ spec }: PersistentVolume): boolean => (spec?.claimRef?.uid ?? "") !== "";
