/** The kernel settings that a kubelet enforces, however the machine was set up. The values are the Go kubelet's. */

export interface KernelTunable {
  readonly name: string;
  readonly wanted: string;
}

export const KERNEL_TUNABLES: readonly KernelTunable[] = [
  // Memory is overcommitted: cgroups enforce the limits.
  { name: "vm.overcommit_memory", wanted: "1" },
  // Running out of memory kills a process and does not panic the kernel.
  { name: "vm.panic_on_oom", wanted: "0" },
  // A machine that panicked reboots by itself.
  { name: "kernel.panic", wanted: "10" },
  { name: "kernel.panic_on_oops", wanted: "1" },
  // Each container that runs as root needs its own keys.
  { name: "kernel.keys.root_maxkeys", wanted: "1000000" },
  { name: "kernel.keys.root_maxbytes", wanted: "25000000" },
];

export interface TunablePlan {
  /** Why the agent does not start, in the Go kubelet's words. */
  readonly faults: readonly string[];
  readonly writes: readonly KernelTunable[];
}

/** Decides what to do about the current values; undefined: this kernel does not have the setting. */
export function planTunables(values: ReadonlyMap<string, string | undefined>, protect: boolean): TunablePlan {
  const faults: string[] = [];
  const writes: KernelTunable[] = [];
  for (const tunable of KERNEL_TUNABLES) {
    const { name, wanted } = tunable;
    const value = values.get(name);
    const flag = name.replaceAll(".", "/");
    if (value === wanted) continue;
    if (value === undefined) faults.push(`open /proc/sys/${flag}: no such file or directory`);
    else if (protect) faults.push(`invalid kernel flag: ${flag}, expected value: ${wanted}, actual value: ${value}`);
    else writes.push(tunable);
  }
  return { faults, writes };
}

/** Joins several errors as the Go kubelet does. */
export const tunablesFault = (faults: readonly string[]): string =>
  faults.length === 1 ? (faults[0] ?? "") : `[${faults.join(", ")}]`;
