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
