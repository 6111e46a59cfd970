/** The kernel's settings by their names, such as "vm.overcommit_memory". They are the machine's: whoever writes one writes it for everybody. */
export interface KernelSettings {
  /** Without the space around it. Undefined: this kernel has no such setting. */
  read(name: string): Promise<string | undefined>;
  /** Whether this process may write it. */
  isWritable(name: string): Promise<boolean>;
  /** Rejects with an Error that names the setting and why: it is not there, or may not be written. */
  write(name: string, value: string): Promise<void>;
}
