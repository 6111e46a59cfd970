/** The kernel's own stats of a node's cgroups, networks and file systems, read without Deckhand. */
import { existsSync, readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ClusterNode } from "../../cluster/cluster.ts";

const HIERARCHIES = "/sys/fs/cgroup";
/** Without a limit, cgroup v1 shows the largest number of whole pages, which is above this. */
const UNLIMITED = 2 ** 62;

const FILES = [
  "cpuacct/cpuacct.usage",
  "cpuacct/cpuacct.stat",
  "cpu/cpu.stat",
  "cpu/cpu.shares",
  "cpu/cpu.cfs_quota_us",
  "cpu/cpu.cfs_period_us",
  "cpu/cgroup.procs",
  "memory/memory.stat",
  "memory/memory.usage_in_bytes",
  "memory/memory.max_usage_in_bytes",
  "memory/memory.failcnt",
  "memory/memory.kmem.usage_in_bytes",
  "memory/memory.limit_in_bytes",
  "memory/memory.memsw.limit_in_bytes",
  "memory/memory.soft_limit_in_bytes",
  "memory/memory.oom_control",
  "pids/pids.current",
  "pids/pids.max",
] as const;
type GroupFile = (typeof FILES)[number];

const textOf = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");

/** Interfaces that cAdvisor ignores: loopback, the host ends of pods' veth pairs, and bridges of container engines. */
const PASSED_OVER = /^(?:lo|veth|docker|nerdctl)/i;

/** One cgroup at one moment. */
export class GroupAt {
  readonly #files: ReadonlyMap<GroupFile, string>;
  readonly id: string;
  readonly pids: readonly string[];
  readonly network: ReadonlyMap<string, readonly number[]>;
  readonly openFiles: number;
  readonly sockets: number;
  readonly openFilesMax: number | undefined;
  readonly createdMs: number;

  constructor(id: string) {
    this.id = id;
    this.#files = new Map(
      FILES.map((file) => {
        const [controller = "", name = ""] = file.split("/");
        return [file, textOf(join(HIERARCHIES, controller, id, name))];
      }),
    );
    this.pids = this.text("cpu/cgroup.procs").split("\n").filter(Boolean);
    const first = id === "/" ? "1" : this.pids[0];
    this.network = new Map(first === undefined ? [] : interfacesOf(textOf(`/proc/${first}/net/dev`)));
    const links = this.pids.flatMap(openLinks);
    this.openFiles = links.length;
    this.sockets = links.filter((link) => link.startsWith("socket")).length;
    const limits = first === undefined ? "" : textOf(`/proc/${first}/limits`);
    const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
    this.openFilesMax = soft === undefined ? undefined : soft === "unlimited" ? -1 : Number(soft);
    // A directory's time changes with every cgroup below it; the oldest time is that of its creation.
    const made = ["cpu", "memory"].flatMap((controller) => [
      join(HIERARCHIES, controller, id),
      join(HIERARCHIES, controller, id, "cgroup.clone_children"),
    ]);
    this.createdMs = Math.min(...made.map((path) => statSync(path).mtimeMs));
  }

  text(file: GroupFile): string {
    return this.#files.get(file) ?? "";
  }

  number(file: GroupFile): number {
    return Number(this.text(file));
  }

  keyed(file: GroupFile, key: string): number {
    return Number(new RegExp(`^${key} (\\d+)$`, "m").exec(this.text(file))?.[1] ?? 0);
  }

  /** 0 if there is no limit. */
  limit(file: GroupFile): number {
    const bytes = this.number(file);
    return bytes > UNLIMITED ? 0 : bytes;
  }

  get workingSet(): number {
    return this.number("memory/memory.usage_in_bytes") - this.keyed("memory/memory.stat", "total_inactive_file");
  }
}

function openLinks(pid: string): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return "";
      }
    });
  } catch {
    return [];
  }
}

const interfacesOf = (text: string) =>
  text
    .split("\n")
    .slice(2)
    .flatMap((line) => {
      const [name = "", counts] = line.split(":").map((part) => part.trim());
      return counts === undefined || PASSED_OVER.test(name) ? [] : [[name, counts.split(/\s+/).map(Number)] as const];
    });

export interface Room {
  readonly capacity: number;
  readonly free: number;
  readonly available: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export function roomAt(path: string): Room {
  const { blocks, bfree, bavail, bsize, files, ffree } = statfsSync(path);
  return { capacity: blocks * bsize, free: bfree * bsize, available: bavail * bsize, inodes: files, inodesFree: ffree };
}

const meminfo = (key: string) =>
  1024 * Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, "m").exec(textOf("/proc/meminfo"))?.[1] ?? 0);

const SOCKET = /^physical id\s*: \d+$/gm;
/** A core with its socket. */
const CORE = /^physical id\s*: \d+\n(?:.+\n)*?core id\s*: \d+$/gm;

/** The machine's interfaces by name, with their indexes: an interface that is created again has another one. */
export const linksNow = (): ReadonlyMap<string, string> =>
  new Map(readdirSync("/sys/class/net").map((name) => [name, textOf(`/sys/class/net/${name}/ifindex`).trim()]));

/** The names of interfaces that were neither created nor removed, as clusters of other tests do. */
export const lastingLinks = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>) =>
  new Set([...before].filter(([name, number]) => after.get(name) === number).map(([name]) => name));

/** All stats of a node at one moment. */
export class KernelAt {
  readonly wallMs = Date.now();
  readonly groups: ReadonlyMap<string, GroupAt>;
  readonly links = linksNow();
  readonly memoryBytes = meminfo("MemTotal");
  readonly swapBytes = meminfo("SwapTotal");
  readonly bootedMs = Date.now() - 1000 * Number(textOf("/proc/uptime").split(" ")[0]);
  readonly cores = new Set(textOf("/proc/cpuinfo").match(CORE)).size;
  readonly sockets = new Set(textOf("/proc/cpuinfo").match(SOCKET)).size;
  /** The machine's processes, threads included. */
  readonly processes = Number(/\/(\d+) /.exec(textOf("/proc/loadavg"))?.[1]);
  /** By device: the fields after its name. */
  readonly disks: ReadonlyMap<string, readonly number[]>;
  /** By device, or by mount point for tmpfs. */
  readonly mounts: ReadonlyMap<string, Room>;

  constructor(node: ClusterNode, groups: readonly string[], mounts: ReadonlyMap<string, string>) {
    this.groups = new Map(groups.map((id) => [id, new GroupAt(id)]));
    this.disks = new Map(
      textOf("/proc/diskstats")
        .split("\n")
        .map((line) => line.trim().split(/\s+/))
        .map(([, , name = "", ...counts]) => [`/dev/${name}`, counts.map(Number)]),
    );
    this.mounts = new Map([...mounts].map(([device, path]) => [device, roomAt(node.inside(path))]));
  }

  group(id: string): GroupAt | undefined {
    return this.groups.get(id);
  }
}

/** The root cgroup, the agents' cgroup, and the cgroups of all pods, each pod and each container. */
export function groupsOf(node: ClusterNode, kubeletGroup: string): readonly string[] {
  const below = (id: string): readonly string[] => {
    const entries = readdirSync(join(HIERARCHIES, "memory", id), { withFileTypes: true });
    return [id, ...entries.filter((entry) => entry.isDirectory()).flatMap(({ name }) => below(join(id, name)))];
  };
  return ["/", kubeletGroup, ...below(join(node.cgroupParent, "kubepods"))];
}

const ON_DISK = /^(?:ext\d|xfs|btrfs|squashfs|f2fs|vfat|exfat|iso9660)$/;
const OF_PODS = /\/pods\/[^/]+\/volumes|\/sandboxes\/|\/io\.containerd\.runtime\.v2\.task\//;

/** The file systems that cAdvisor counts, with their mount points: each device once, and tmpfs by mount point. */
export async function mountsOf(node: ClusterNode): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await node.run("cat", "/proc/self/mountinfo");
  const found = new Map<string, string>();
  const lines = stdout.split("\n").filter((line) => line !== "" && !OF_PODS.test(line.split(" ")[4] ?? ""));
  for (const line of lines) {
    const [, , , , path = ""] = line.split(" ");
    const [type = "", source = ""] = line.split(" - ")[1]?.split(" ") ?? [];
    const name = type === "tmpfs" ? path : ON_DISK.test(type) || path === "/" ? source : "";
    if (name !== "" && !found.has(name)) found.set(name, path);
  }
  return found;
}
