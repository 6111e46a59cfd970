/** Sysctls by name, such as "vm.overcommit_memory". They apply to the whole machine. */
export interface Sysctls {
  /** The trimmed value; undefined if this kernel has no such sysctl. */
  read(name: string): Promise<string | undefined>;
  /** Whether this process may write the sysctl. */
  isWritable(name: string): Promise<boolean>;
  /** Rejects with an Error that names the sysctl and the reason: it does not exist or is not writable. */
  write(name: string, value: string): Promise<void>;
}
