/**
 * A cgroup v2 hierarchy of plain directories and files. It records writes and imitates the kernel: files appear in new
 * cgroups, a cgroup in use cannot be removed, and a controller must be enabled by the parent. Suitable only for tests
 * of written texts and their order.
 */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CgroupTree, hostTree } from "../../src/wire/cgroupfs/tree.ts";

const FILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  cpu: { "cpu.weight": "100", "cpu.max": "max 100000" },
  cpuset: { "cpuset.cpus": "" },
  memory: {
    "memory.max": "max",
    "memory.swap.max": "max",
    "memory.min": "0",
    "memory.current": "0",
    "memory.stat": "anon 0\nfile 4096\ninactive_file 4096\nactive_file 0",
  },
  pids: { "pids.max": "max" },
  hugetlb: { "hugetlb.2MB.max": "max", "hugetlb.2MB.rsvd.max": "max", "hugetlb.1GB.max": "max" },
  io: {},
};

export interface PlainTree extends CgroupTree {
  /** All writes, as "file below the root=text". */
  readonly writes: string[];
  start(path: string): Promise<number>;
  isAlive(pid: number): boolean;
  /** Simulates processes in the cgroup that use this many bytes, besides one page of reclaimable cache. */
  fill(path: string, bytes: bigint): Promise<void>;
}

export async function plainTree(root: string, controllers: readonly string[]): Promise<PlainTree> {
  const alive = new Map<number, string>();
  const writes: string[] = [];
  let lastPid = 2 ** 22;

  const enable = async (path: string, more: readonly string[]) => {
    const files = Object.assign({}, ...more.map((controller) => FILES[controller])) as Record<string, string>;
    for (const [file, text] of Object.entries(files)) await writeFile(join(path, file), `${text}\n`);
    const before = await words(join(path, "cgroup.controllers"));
    await writeFile(join(path, "cgroup.controllers"), `${[...before, ...more].join(" ")}\n`);
  };
  const populate = async (path: string, enabled: readonly string[]) => {
    await enable(path, enabled);
    await writeFile(join(path, "cgroup.subtree_control"), "\n");
    for (const file of ["cgroup.events", "cgroup.kill"]) await writeFile(join(path, file), "");
    await showProcesses(path);
  };
  const showProcesses = (path: string) => {
    const pids = [...alive].filter(([, group]) => group === path).map(([pid]) => pid);
    return writeFile(join(path, "cgroup.procs"), pids.map((pid) => `${pid}\n`).join(""));
  };

  const isWithin = (group: string, path: string) => group === path || group.startsWith(`${path}/`);
  await mkdir(root, { recursive: true });
  await populate(root, controllers);
  return {
    ...hostTree,
    writes,
    async make(path) {
      if (await hostTree.isGroup(path)) return;
      await mkdir(path);
      await populate(path, await words(join(path, "..", "cgroup.subtree_control")));
    },
    async write(path, text) {
      writes.push(`${path.slice(root.length)}=${text}`);
      if (path.endsWith("cgroup.kill")) {
        for (const [pid, group] of alive) if (isWithin(group, join(path, ".."))) alive.delete(pid);
      }
      if (!path.endsWith("cgroup.subtree_control")) return hostTree.write(path, `${text}\n`);
      const before = await words(path);
      const more = text
        .replaceAll("+", "")
        .split(" ")
        .filter((controller) => !before.includes(controller));
      await hostTree.write(path, `${[...before, ...more].join(" ")}\n`);
      for (const child of await hostTree.children(join(path, ".."))) await enable(join(path, "..", child), more);
    },
    async remove(path) {
      const inUse = [...alive.values()].includes(path) || (await hostTree.children(path)).length > 0;
      if (inUse) return "busy";
      if (!(await hostTree.isGroup(path))) return "removed";
      for (const file of await readdir(path)) await rm(join(path, file));
      return hostTree.remove(path);
    },
    kill(pid) {
      alive.delete(pid);
    },
    async read(path) {
      if (path.endsWith("cgroup.procs") && (await hostTree.isGroup(join(path, "..")))) {
        await showProcesses(join(path, ".."));
      }
      if (path.endsWith("cgroup.events") && (await hostTree.isGroup(join(path, "..")))) {
        const isPopulated = [...alive.values()].some((group) => isWithin(group, join(path, "..")));
        await writeFile(path, `populated ${Number(isPopulated)}\nfrozen 0\n`);
      }
      return hostTree.read(path);
    },
    async start(path) {
      lastPid += 1;
      alive.set(lastPid, path);
      await showProcesses(path);
      return lastPid;
    },
    isAlive: (pid) => alive.has(pid),
    async fill(path, bytes) {
      for (let group = path; group !== root; group = join(group, "..")) {
        await writeFile(join(group, "memory.current"), `${bytes + 4096n}\n`);
      }
    },
  };
}

const words = async (path: string) => ((await hostTree.read(path)) ?? "").trim().split(" ").filter(Boolean);
