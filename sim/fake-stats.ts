/**
 * The Stats port of a simulated machine. Its groups are those of the fake cgroups. Each process uses a tenth of a CPU;
 * memory is what the cgroups were filled with. Counters grow with the clock and never decrease while a cgroup exists.
 */

import { parseCgroupPath } from "../src/domain/resources/cgroup-name.ts";
import type { CgroupName } from "../src/domain/resources/cgroup-values.ts";
import {
  type CgroupCpuStats,
  type CgroupMemoryStats,
  type CgroupStats,
  containerIdOfGroup,
  type NetworkInterfaceStats,
  NO_CPU,
  NO_MEMORY,
  type StatsReading,
} from "../src/domain/stats/stats-reading.ts";
import type { Clock } from "../src/ports/clock.ts";
import type { Stats, StatsQuestion } from "../src/ports/stats.ts";
import type { FakeCgroups } from "./fake-cgroups.ts";
import type { FakeFiles } from "./fake-files.ts";
import type { FakeMachine } from "./fake-machine.ts";

export interface FakeStatsParts {
  readonly clock: Clock;
  readonly cgroups: FakeCgroups;
  readonly machine: FakeMachine;
  readonly files: FakeFiles;
  readonly childrenOf?: (pid: number) => number;
}

interface Seen {
  readonly createdWallMs: number;
  readonly lastWallMs: number;
  readonly usageNs: number;
}

const SHARE_OF_CPU = 0.1;
const BLOCK_BYTES = 4096;

export class FakeStats implements Stats {
  readonly #parts: FakeStatsParts;
  readonly #seen = new Map<string, Seen>();
  readonly #bootedWallMs: number;
  /** Number of reads. Nothing may read stats that nobody requested. */
  reads = 0;

  constructor(parts: FakeStatsParts) {
    this.#parts = parts;
    this.#bootedWallMs = parts.clock.wallMs();
  }

  async read(question: StatsQuestion, signal: AbortSignal): Promise<StatsReading> {
    signal.throwIfAborted();
    this.reads += 1;
    const groups = new Map<string, CgroupStats>();
    groups.set("/", await this.#group([], "/", question));
    for (const group of question.groups) await this.#walk(parseCgroupPath(group), groups, question);
    const filesystems = new Map(
      await Promise.all(question.filesystems.map(async (path) => [path, await this.#room(path)] as const)),
    );
    return {
      readWallMs: this.#parts.clock.wallMs(),
      bootedWallMs: this.#bootedWallMs,
      knowsPressure: false,
      groups: [...groups.values()],
      mounts: question.detail === "everything" ? [{ device: "/dev/vda", ...(await this.#room("/")) }] : [],
      filesystems,
      files: new Map(question.files.flatMap((path) => this.#usage(path))),
    };
  }

  ownGroup(): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  async #walk(name: CgroupName, groups: Map<string, CgroupStats>, question: StatsQuestion): Promise<void> {
    const id = `/${name.join("/")}`;
    if (groups.has(id) || !(await this.#parts.cgroups.exists(name))) return;
    groups.set(id, await this.#group(name, id, question));
    for (const child of await this.#parts.cgroups.children(name)) await this.#walk([...name, child], groups, question);
  }

  async #group(name: CgroupName, id: string, { detail, sandboxes }: StatsQuestion): Promise<CgroupStats> {
    const { clock, cgroups, machine, childrenOf = () => 0 } = this.#parts;
    const pids = await cgroups.processes(name);
    const count = pids.reduce((sum, pid) => sum + 1 + childrenOf(pid), 0);
    const seen = this.#age(id, pids.length, clock.wallMs());
    const memory = await cgroups.memory(name);
    const isRoot = id === "/";
    const used = isRoot ? await machine.memoryWorkingSetBytes() : (memory?.workingSetBytes ?? 0n);
    const limit = isRoot ? machine.machine.memoryBytes : memory?.limitBytes;
    const container = containerIdOfGroup(id);
    const hasNetwork = isRoot || (container !== undefined && sandboxes.has(container));
    return {
      id,
      readWallMs: clock.wallMs(),
      createdWallMs: seen.createdWallMs,
      cpu: cpuOf(seen.usageNs),
      memory: memoryOf(Number(used), limit === undefined ? Infinity : Number(limit)),
      ...(detail === "usage"
        ? {}
        : {
            io: { devices: [] },
            processes: { processes: count, openFiles: 0, sockets: 0, threads: count, threadsMax: 0 },
            ...(hasNetwork ? { network: [QUIET_INTERFACE] } : {}),
          }),
    };
  }

  #age(id: string, processes: number, nowWallMs: number): Seen {
    const last = this.#seen.get(id) ?? { createdWallMs: nowWallMs, lastWallMs: nowWallMs, usageNs: 0 };
    const passedNs = Math.max(0, nowWallMs - last.lastWallMs) * 1e6;
    const usageNs = last.usageNs + Math.floor(passedNs * processes * SHARE_OF_CPU);
    const seen = { createdWallMs: last.createdWallMs, lastWallMs: nowWallMs, usageNs };
    this.#seen.set(id, seen);
    return seen;
  }

  async #room(path: string) {
    const facts = await this.#parts.machine.filesystem(path);
    return {
      capacityBytes: Number(facts.capacityBytes),
      freeBytes: Number(facts.availableBytes),
      availableBytes: Number(facts.availableBytes),
      inodes: Number(facts.inodes),
      inodesFree: Number(facts.inodesFree),
    };
  }

  #usage(path: string): readonly (readonly [string, { readonly bytes: number; readonly inodes: number }])[] {
    const found = this.#parts.files.disk.follow(path)?.entry;
    if (found === undefined) return [];
    const entries = found.kind === "directory" ? [...found.entries.values()] : [found];
    const files = entries.filter(({ kind }) => kind !== "directory");
    const blocks = files.map((file) => (file.kind === "file" ? Math.ceil(file.content.length / BLOCK_BYTES) : 0));
    return [[path, { bytes: blocks.reduce((sum, each) => sum + each, 0) * BLOCK_BYTES, inodes: files.length }]];
  }
}

const cpuOf = (usageNs: number): CgroupCpuStats => ({
  ...NO_CPU,
  usageNs,
  userNs: usageNs,
  shares: 1024,
  periodUs: 100_000,
});

const memoryOf = (usageBytes: number, limitBytes: number): CgroupMemoryStats => ({
  ...NO_MEMORY,
  usageBytes,
  peakBytes: usageBytes,
  rssBytes: usageBytes,
  limitBytes,
  swapLimitBytes: 0,
});

const QUIET_INTERFACE: NetworkInterfaceStats = {
  name: "eth0",
  rxBytes: 0,
  rxPackets: 0,
  rxErrors: 0,
  rxDropped: 0,
  txBytes: 0,
  txPackets: 0,
  txErrors: 0,
  txDropped: 0,
};
