/** The HostInspector port of a host that a scenario configures and breaks. A new instance is healthy. */
import type { AgentProcess, CgroupTree, Listener } from "../src/domain/doctor/facts.ts";
import type { HostInspector } from "../src/ports/host-inspector.ts";

const parentOf = (path: string) => path.slice(0, path.lastIndexOf("/")) || "/";

export class FakeHostInspector implements HostInspector {
  kernelFileSystems: readonly string[] = ["proc", "ext4", "overlay"];
  swap: readonly string[] = [];
  tree: CgroupTree | undefined = { version: 2, controllers: ["cpuset", "cpu", "memory", "pids"], readOnly: false };
  systemd = true;
  listening: readonly Listener[] = [];
  running: readonly AgentProcess[] = [];
  readonly programs = new Set(["mount", "umount", "flock", "iptables"]);
  /** Texts by path. Their directories exist as well. */
  readonly files = new Map<string, string>([["/dev/kmsg", ""]]);
  readonly directories = new Set<string>(["/", "/var", "/var/lib", "/var/log"]);
  /** Why a directory is not writable, by directory. */
  readonly unwritable = new Map<string, string>();

  async fileSystems(): Promise<readonly string[]> {
    return this.kernelFileSystems;
  }

  async swapDevices(): Promise<readonly string[]> {
    return this.swap;
  }

  async cgroupTree(): Promise<CgroupTree | undefined> {
    return this.tree;
  }

  async isRunBySystemd(): Promise<boolean> {
    return this.systemd;
  }

  async listeners(ports: readonly number[]): Promise<readonly Listener[]> {
    return this.listening.filter(({ port }) => ports.includes(port));
  }

  async agents(): Promise<readonly AgentProcess[]> {
    return this.running;
  }

  async hasProgram(name: string): Promise<boolean> {
    return this.programs.has(name);
  }

  async text(path: string): Promise<string> {
    const text = this.files.get(path);
    if (text === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
    return text;
  }

  async names(directory: string): Promise<readonly string[]> {
    const names = [...this.files.keys()].filter((path) => parentOf(path) === directory);
    return names.map((path) => path.slice(path.lastIndexOf("/") + 1)).toSorted();
  }

  async requireReadable(path: string): Promise<void> {
    await this.text(path);
  }

  async nearest(path: string): Promise<string> {
    const there = new Set(this.directories);
    for (const file of this.files.keys()) for (let at = file; at !== "/"; at = parentOf(at)) there.add(at);
    let at = path;
    while (!there.has(at)) at = parentOf(at);
    return at;
  }

  async writeTrouble(directory: string): Promise<string | undefined> {
    return this.unwritable.get(directory);
  }
}
