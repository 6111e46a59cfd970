/** A memory limit below what is in use would kill: it is refused, in the Go kubelet's words. */
export interface LoweredLimit {
  readonly limitBytes: bigint;
  /** Undefined: it is not known. */
  readonly usageBytes: bigint | undefined;
}

/** Undefined: all of them are above what is used. */
export function whyNotBelowUsage(
  pod: LoweredLimit | undefined,
  containers: readonly (LoweredLimit & { readonly name: string })[],
): string | undefined {
  const complaints = [
    ...(pod === undefined ? [] : complaint(pod, "pod memory limit", "pod")),
    ...containers.flatMap((one) =>
      complaint(one, `container ${JSON.stringify(one.name)} memory limit`, `container ${JSON.stringify(one.name)}`),
    ),
  ];
  if (complaints.length === 0) return undefined;
  const all = complaints.length === 1 ? complaints[0] : `[${complaints.join(", ")}]`;
  return `cannot decrease memory limits: ${all}`;
}

function complaint({ limitBytes, usageBytes }: LoweredLimit, what: string, whose: string): readonly string[] {
  if (usageBytes === undefined) return [`missing ${whose} memory usage`];
  if (usageBytes < limitBytes) return [];
  return [`attempting to set ${what} (${limitBytes}) below current usage (${usageBytes})`];
}
