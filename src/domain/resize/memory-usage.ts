/** Refuses a memory limit below current usage, which would kill processes. The messages are the Go kubelet's. */
export interface LoweredLimit {
  readonly limitBytes: bigint;
  /** Undefined: unknown. */
  readonly usageBytes: bigint | undefined;
}

/** Undefined: all limits are above current usage. */
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
