/** The binding of a claim to its volume. Once they are bound, the fields that a node needs no longer change. */
import type { PersistentVolume, PersistentVolumeClaim } from "../../api/gen/core-v1.ts";

/** Undefined until the claim is bound. */
export function boundVolumeName({ spec, status }: PersistentVolumeClaim): string | undefined {
  const name = spec?.volumeName ?? "";
  return status?.phase === "Bound" && name !== "" ? name : undefined;
}

/**
 * Whether the volume names its claim. It is written before the claim, but may be read from an API server that lags
 * behind.
 */
export const isClaimed = ({ spec }: PersistentVolume): boolean => (spec?.claimRef?.uid ?? "") !== "";
