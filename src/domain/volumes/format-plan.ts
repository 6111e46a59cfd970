/** Decides what to do with a block device before it is mounted. A device that holds anything is never formatted. */
export interface DeviceFormat {
  readonly type: string | undefined;
  readonly partitioned: boolean;
}

export type FormatStep =
  | { readonly kind: "format"; readonly type: string }
  /**
   * The device is formatted, and may be repaired first if it is writable. `mismatch`: its type is not the requested
   * one.
   */
  | { readonly kind: "mount"; readonly check: boolean; readonly mismatch: boolean }
  | { readonly kind: "refused"; readonly message: string };

/**
 * The reported content of a device with partitions: no filesystem that could be mounted, and nothing to format over.
 */
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
