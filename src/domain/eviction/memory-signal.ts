/**
 * How the available memory of the machine is computed: its capacity without the working set, as in the Go kubelet, or
 * the kernel's own estimate of what can be used without swapping.
 */
export const MEMORY_SIGNALS = ["working-set", "mem-available"] as const;

export type MemorySignal = (typeof MEMORY_SIGNALS)[number];
