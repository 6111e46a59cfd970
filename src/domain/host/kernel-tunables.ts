/** The kernel settings that a kubelet sees to, whatever the machine was set up with. The values are the Go kubelet's. */

export interface KernelTunable {
  readonly name: string;
  readonly wanted: string;
}

export const KERNEL_TUNABLES: readonly KernelTunable[] = [
  // Memory is promised beyond what is there: limits are kept by control groups.
  { name: "vm.overcommit_memory", wanted: "1" },
  // Want of memory costs a process, not the machine.
  { name: "vm.panic_on_oom", wanted: "0" },
  // A machine that fell comes back by itself.
  { name: "kernel.panic", wanted: "10" },
  { name: "kernel.panic_on_oops", wanted: "1" },
  // Each container of root's has keys of its own.
  { name: "kernel.keys.root_maxkeys", wanted: "1000000" },
  { name: "kernel.keys.root_maxbytes", wanted: "25000000" },
];

export interface TunablePlan {
  /** Why the agent does not start, in the Go kubelet's words. */
  readonly faults: readonly string[];
  readonly writes: readonly KernelTunable[];
}

/** What to do about values as they are read; undefined: this kernel does not have it. */
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

/** Several as one, as the Go kubelet writes them. */
export const tunablesFault = (faults: readonly string[]): string =>
  faults.length === 1 ? (faults[0] ?? "") : `[${faults.join(", ")}]`;
