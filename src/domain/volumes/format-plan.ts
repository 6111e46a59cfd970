/** What to do with a block device before it is mounted. A device that holds anything is never formatted. */
export interface DeviceFormat {
  readonly type: string | undefined;
  readonly partitioned: boolean;
}

export type FormatStep =
  | { readonly kind: "format"; readonly type: string }
  /** It is formatted, and may be repaired first where it may be written. `mismatch`: by another type than was asked for. */
  | { readonly kind: "mount"; readonly check: boolean; readonly mismatch: boolean }
  | { readonly kind: "refused"; readonly message: string };

/** What a device with partitions is said to hold: no file system that could be mounted, and nothing to be formatted over. */
const PARTITIONS = "unknown data, probably partitions";

export function formatStep(
  device: string,
  wanted: string,
  found: DeviceFormat,
  { readOnly }: { readonly readOnly: boolean },
): FormatStep {
  const present = found.type ?? (found.partitioned ? PARTITIONS : undefined);
  if (present !== undefined) return { kind: "mount", check: !readOnly, mismatch: present !== wanted };
  if (!readOnly) return { kind: "format", type: wanted };
  const message = `cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`;
  return { kind: "refused", message };
}
