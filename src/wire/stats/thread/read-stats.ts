/**
 * One reading, from the first file to the last: the root cgroup alone, then each requested cgroup with everything below
 * it.
 */
import { join } from "node:path";
import type { RecentMap } from "../../../base/recent-map.ts";
import {
  type CgroupMemoryStats,
  type CgroupProcessStats,
  type CgroupStats,
  containerIdOfGroup,
  type StatsReading,
} from "../../../domain/stats/stats-reading.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { StatsQuestion } from "../../../ports/stats.ts";
import { parseHierarchies } from "../../cgroupfs/hierarchies.ts";
import { Disks } from "./devices.ts";
import { usageOf } from "./file-usage.ts";
import { type GroupReader, ROOT } from "./group-files.ts";
import { filesystemOf, mountsOfMachine } from "./mounts.ts";
import { interfacesOf, openFilesMax, openFilesOf, processesOf } from "./processes.ts";
import { directoryNames, mayHaveDirectories, readText, statOf } from "./small-files.ts";
import { V1Groups } from "./v1.ts";
import { V2Groups } from "./v2.ts";

export interface StatsRoots {
  /** The directory below which /proc and /sys are read. */
  readonly root: string;
  readonly clock: Pick<Clock, "wallMs">;
  /** Kept from one reading to the next: the creation time of a cgroup is looked up once. */
  readonly createdAt: RecentMap<string, CgroupCreation>;
}

export interface CgroupCreation {
  readonly wallMs: number;
  /** The inode of the cgroup's directory. Another cgroup of the same name has another one. */
  readonly inode: number;
}

/** A reading without its cgroups, which are passed on as they are read. */
export type ReadingBesideGroups = Omit<StatsReading, "groups">;

export function readStats(
  question: StatsQuestion,
  { root, clock, createdAt }: StatsRoots,
  onGroup: (stats: CgroupStats) => void,
): ReadingBesideGroups {
  const proc = join(root, "proc");
  const disks = new Disks(join(proc, "diskstats"));
  const reader = readerOf(root, proc, disks);
  const readWallMs = clock.wallMs();
  const bootedWallMs = readWallMs - uptimeMs(proc);
  new GroupWalk({ question, reader, proc, clock, bootedWallMs, createdAt, onGroup }).run();
  const all = question.detail === "everything";
  return {
    readWallMs,
    bootedWallMs,
    knowsPressure: reader.knowsPressure,
    mounts: all ? mountsOfMachine(join(proc, "self", "mountinfo"), disks) : [],
    filesystems: present(question.filesystems, (path) => filesystemOf(join(root, path))),
    files: present(question.files, (path) => usageOf(join(root, path))),
  };
}

function readerOf(root: string, proc: string, disks: Disks): GroupReader {
  const mounts = readText(join(proc, "self", "mounts")) ?? "";
  const hierarchies = parseHierarchies(mounts);
  const below = (path: string) => join(root, path);
  if (hierarchies.version === 2) return new V2Groups(below(hierarchies.path), join(proc, "meminfo"), disks);
  const moved = hierarchies.mounts.map(({ path, controllers }) => ({ path: below(path), controllers }));
  return new V1Groups({ version: 1, mounts: moved }, disks);
}

const uptimeMs = (proc: string): number => Number((readText(join(proc, "uptime")) ?? "0").split(" ")[0]) * 1000;

function present<T>(paths: readonly string[], look: (path: string) => T | undefined): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const path of paths) {
    const stats = look(path);
    if (stats !== undefined) found.set(path, stats);
  }
  return found;
}

interface WalkParts {
  readonly question: StatsQuestion;
  readonly reader: GroupReader;
  readonly proc: string;
  readonly clock: Pick<Clock, "wallMs">;
  readonly bootedWallMs: number;
  readonly createdAt: RecentMap<string, CgroupCreation>;
  readonly onGroup: (stats: CgroupStats) => void;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

class GroupWalk {
  readonly #parts: WalkParts;
  readonly #read = new Set<string>();

  constructor(parts: WalkParts) {
    this.#parts = parts;
  }

  run(): void {
    this.#add(ROOT);
    for (const group of this.#parts.question.groups) this.#walk(group);
  }

  #walk(group: string): void {
    const directory = this.#parts.reader.directoryOf(group);
    if (!this.#add(group)) return;
    for (const name of directoryNames(directory)) this.#walk(group === ROOT ? `/${name}` : `${group}/${name}`);
  }

  /** Returns whether there may be cgroups below. */
  #add(group: string): boolean {
    const { reader, question, clock } = this.#parts;
    const found = statOf(reader.directoryOf(group));
    const isParent = found !== undefined && mayHaveDirectories(found);
    if (this.#read.has(group)) return isParent;
    const createdWallMs = this.#createdWallMs(group, found?.ino);
    if (createdWallMs === undefined) return isParent;
    const { detail } = question;
    const readWallMs = clock.wallMs();
    const cpu = reader.cpu(group, detail);
    const memory = reader.memory(group, detail);
    if (cpu === undefined && memory === undefined && containerIdOfGroup(group) !== undefined) return false; // Removed.
    const stats: Mutable<CgroupStats> = { id: group, readWallMs, createdWallMs };
    if (cpu !== undefined) stats.cpu = cpu;
    if (memory !== undefined) stats.memory = group === ROOT ? this.#machineMemory(memory) : memory;
    if (detail !== "usage") {
      const io = reader.io(group, detail);
      if (io !== undefined) stats.io = io;
      this.#addProcesses(group, stats);
    }
    this.#read.add(group);
    this.#parts.onGroup(stats);
    return isParent;
  }

  /** Undefined: the cgroup is gone. Never before the machine's boot time, rounded down to the minute as in cAdvisor. */
  #createdWallMs(group: string, inode: number | undefined): number | undefined {
    const { createdAt, reader, bootedWallMs } = this.#parts;
    const known = createdAt.get(group);
    if (known !== undefined && known.inode === inode) return known.wallMs;
    const ages = reader.creationFiles(group).flatMap((path) => statOf(path)?.mtimeMs ?? []);
    if (ages.length === 0) return undefined;
    const booted = Math.floor(bootedWallMs / 60_000) * 60_000;
    const wallMs = Math.max(booted, Math.min(...ages));
    if (inode !== undefined) createdAt.set(group, { wallMs, inode });
    return wallMs;
  }

  /** The root cgroup has no limits except what the machine has. */
  #machineMemory(memory: CgroupMemoryStats): CgroupMemoryStats {
    const meminfo = readText(join(this.#parts.proc, "meminfo")) ?? "";
    const bytes = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(meminfo)?.[1] ?? 0) * 1024;
    return { ...memory, limitBytes: bytes("MemTotal"), swapLimitBytes: bytes("SwapTotal") };
  }

  #addProcesses(group: string, stats: Mutable<CgroupStats>): void {
    const { reader, proc, question } = this.#parts;
    const pids = processesOf(reader.directoryOf(group));
    const first = group === ROOT ? "1" : pids[0];
    const id = containerIdOfGroup(group);
    const hasNetwork = group === ROOT || (id !== undefined && question.sandboxes.has(id));
    stats.processes = this.#processes(group, pids, group === ROOT || id !== undefined ? first : undefined);
    if (hasNetwork && first !== undefined) stats.network = interfacesOf(proc, first);
  }

  #processes(group: string, pids: readonly string[], first: string | undefined): CgroupProcessStats {
    const { reader, proc, question } = this.#parts;
    const none = { openFiles: 0, sockets: 0, threads: 0, threadsMax: 0 };
    if (question.detail !== "everything") return { processes: pids.length, ...none };
    const filesMax = first === undefined ? undefined : openFilesMax(proc, first);
    return {
      processes: pids.length,
      ...none,
      ...openFilesOf(proc, pids),
      ...reader.threads(group),
      ...(filesMax === undefined ? {} : { openFilesMax: filesMax }),
    };
  }
}
