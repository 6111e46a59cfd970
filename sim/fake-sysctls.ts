/** The Sysctls port of a simulated machine. */
import type { Sysctls } from "../src/ports/sysctls.ts";

/** The defaults of most distributions. */
const USUAL: Readonly<Record<string, string>> = {
  "vm.overcommit_memory": "0",
  "vm.panic_on_oom": "0",
  "kernel.panic": "0",
  "kernel.panic_on_oops": "0",
  "kernel.keys.root_maxkeys": "1000000",
  "kernel.keys.root_maxbytes": "25000000",
  "kernel.pid_max": "4194304",
  "net.ipv4.ip_forward": "1",
  "net.ipv6.conf.all.forwarding": "1",
  "net.bridge.bridge-nf-call-iptables": "1",
  "fs.inotify.max_user_instances": "128",
  "fs.inotify.max_user_watches": "65536",
};

export class FakeSysctls implements Sysctls {
  readonly values = new Map(Object.entries(USUAL));
  readonly locked = new Set<string>();

  async read(name: string): Promise<string | undefined> {
    return this.values.get(name);
  }

  async isWritable(name: string): Promise<boolean> {
    return this.values.has(name) && !this.locked.has(name);
  }

  async write(name: string, value: string): Promise<void> {
    if (!this.values.has(name)) throw new Error(`kernel setting ${name} cannot be set to ${value}: ENOENT`);
    if (this.locked.has(name)) throw new Error(`kernel setting ${name} cannot be set to ${value}: EROFS`);
    this.values.set(name, value);
  }
}
