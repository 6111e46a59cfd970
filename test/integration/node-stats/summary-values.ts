/** Compares the values of a summary with the kernel's files of the same cgroup, network, file system or directory. */
import type {
  CpuStats,
  FsStats,
  IoStats,
  MemoryStats,
  NetworkStats,
  Summary,
  SwapStats,
} from "../../../src/domain/stats/summary-shape.ts";
import { counter, type Expectation, exactly, gauge, wrong } from "./expectation.ts";
import { type GroupAt, type KernelAt, lastingLinks, type Room } from "./kernel.ts";
import type { Held } from "./metric-values.ts";

const MIB = 1024 ** 2;
/** The kernel charges memory to each CPU in batches, so its own files are not exact. */
const MEMORY_SLACK = 1 * MIB;
/** The root cgroup and the agents' cgroup change all the time. */
const SHARED_SLACK = 512 * MIB;
/** Times are truncated to the second. */
const TIME_SLACK = 1.5;

/** The size of files, measured without Deckhand. */
export interface Files {
  readonly bytes: number;
  readonly inodes: number;
}

/** The cgroups and files of a pod. */
export interface PodPlaces {
  readonly group: string;
  /** By container. */
  readonly containers: ReadonlyMap<string, ContainerPlaces>;
  readonly sandbox: string;
  /** By volume. `files` is undefined for a claim's volume, which is measured by its file system. */
  readonly volumes: ReadonlyMap<string, { readonly room: Room; readonly files: Files | undefined }>;
  readonly hosts: Files;
}

export interface ContainerPlaces {
  readonly group: string;
  readonly written: Files;
  readonly logs: Files;
}

export interface NodePlaces {
  readonly pods: ReadonlyMap<string, PodPlaces>;
  /** Cgroups of the summary's system containers, by name. */
  readonly system: ReadonlyMap<string, string>;
  /** The file system of the node's directories. */
  readonly room: Room;
  /** The size of the runtime's images and containers. */
  readonly images: Files;
  readonly processesMax: number;
  /** When the suite began: no stats of a pod are older. */
  readonly startedMs: number;
}

/** One reading of a summary: when it was requested and answered, and its content. */
export interface Look {
  readonly summary: Summary;
  readonly askedMs: number;
  readonly answeredMs: number;
}

interface Usage {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly swap?: SwapStats;
  readonly io?: IoStats;
}

export class HeldSummary implements Held {
  compared = 0;
  readonly troubles: string[] = [];
  readonly #before: KernelAt;
  readonly #after: KernelAt;
  readonly #earlier: Look;
  readonly #look: Look;
  readonly #places: NodePlaces;

  constructor(look: Look, earlier: Look, places: NodePlaces, before: KernelAt, after: KernelAt) {
    [this.#look, this.#earlier, this.#places] = [look, earlier, places];
    [this.#before, this.#after] = [before, after];
    this.#node();
    for (const pod of look.summary.pods) {
      const found = places.pods.get(pod.podRef.name);
      if (found === undefined) this.troubles.push(`nobody made the pod ${pod.podRef.name}`);
      else this.#pod(pod, found);
    }
  }

  #hold(where: string, value: unknown, expectation: Expectation<KernelAt>): void {
    if (value === undefined) return;
    this.compared += 1;
    const trouble = wrong(value, expectation, this.#before, this.#after);
    if (trouble !== undefined) this.troubles.push(`${where}: ${trouble}`);
  }

  #time(where: string, text: string | undefined, fromMs?: number): void {
    if (text === undefined) return;
    const seconds = Date.parse(text) / 1000;
    if (fromMs === undefined)
      this.#hold(
        where,
        seconds,
        gauge(TIME_SLACK, ({ wallMs }) => wallMs / 1000),
      );
    // The time is not before that moment, and not after the answer.
    else
      this.#hold(
        where,
        seconds,
        gauge(TIME_SLACK, (at) => (at === this.#before ? fromMs : at.wallMs) / 1000),
      );
  }

  #node(): void {
    const { node } = this.#look.summary;
    const places = this.#places;
    const booted = gauge<KernelAt>(node.fs === undefined ? 61 : 2, ({ bootedMs }) => bootedMs / 1000);
    this.#hold(".node.startTime", Date.parse(node.startTime) / 1000, booted);
    this.#usage(".node", "/", node);
    this.#network(".node", "/", node.network);
    this.#room(".node.fs", node.fs, places.room);
    this.#hold(
      ".node.fs.usedBytes",
      node.fs?.usedBytes,
      gauge(1024 * MIB, () => places.room.capacity - places.room.free),
    );
    const inodesUsed = places.room.inodes - places.room.inodesFree;
    this.#hold(
      ".node.fs.inodesUsed",
      node.fs?.inodesUsed,
      gauge(100_000, () => inodesUsed),
    );
    this.#time(".node.fs.time", node.fs?.time);
    for (const name of ["imageFs", "containerFs"] as const) {
      const stats = node.runtime?.[name];
      this.#room(`.node.runtime.${name}`, stats, places.room);
      this.#files(`.node.runtime.${name}`, stats, places.images, { bytes: places.images.bytes / 10, inodes: 50 });
      this.#time(`.node.runtime.${name}.time`, stats?.time, places.startedMs);
    }
    this.#time(".node.rlimit.time", node.rlimit?.time);
    this.#hold(
      ".node.rlimit.maxpid",
      node.rlimit?.maxpid,
      exactly(() => places.processesMax),
    );
    this.#hold(
      ".node.rlimit.curproc",
      node.rlimit?.curproc,
      gauge(300, ({ processes }) => processes),
    );
    for (const { name, startTime, ...stats } of node.systemContainers) {
      const where = `.node.systemContainers[${name}]`;
      const group = places.system.get(name) ?? "";
      this.#time(`${where}.startTime`, startTime, places.startedMs);
      this.#usage(where, group, stats);
    }
  }

  #pod(pod: Summary["pods"][number], places: PodPlaces): void {
    const where = `.pods[${pod.podRef.name}]`;
    this.compared += 1;
    if (!places.group.endsWith(`/pod${pod.podRef.uid}`)) this.troubles.push(`${where}.podRef.uid: ${pod.podRef.uid}`);
    this.#time(`${where}.startTime`, pod.startTime, this.#places.startedMs);
    this.#usage(where, places.group, pod);
    this.#network(where, places.sandbox, pod.network);
    for (const container of pod.containers) {
      const found = places.containers.get(container.name);
      const path = `${where}.containers[${container.name}]`;
      if (found === undefined) this.troubles.push(`nobody made ${path}`);
      else {
        this.#time(`${path}.startTime`, container.startTime, this.#places.startedMs);
        this.#usage(path, found.group, container);
        this.#room(`${path}.rootfs`, container.rootfs, this.#places.room);
        this.#files(`${path}.rootfs`, container.rootfs, found.written, { bytes: 16_384, inodes: 2 });
        this.#time(`${path}.rootfs.time`, container.rootfs?.time, this.#places.startedMs);
        this.#room(`${path}.logs`, container.logs, this.#places.room);
        this.#files(`${path}.logs`, container.logs, found.logs, { bytes: 0, inodes: 0 });
        this.#time(`${path}.logs.time`, container.logs?.time);
      }
    }
    for (const volume of pod.volume ?? []) {
      const path = `${where}.volume[${volume.name}]`;
      const found = places.volumes.get(volume.name.replace(/^kube-api-access-.*/, "kube-api-access"));
      if (found === undefined) this.troubles.push(`nobody made ${path}`);
      else {
        const { room, files } = found;
        this.#room(path, volume, room);
        const ofRoom = { bytes: room.capacity - room.free, inodes: room.inodes - room.inodesFree };
        if (files === undefined) this.#files(path, volume, ofRoom, { bytes: 1024 * MIB, inodes: 100_000 });
        else this.#files(path, volume, files, { bytes: 0, inodes: 0 });
        this.#time(`${path}.time`, volume.time, this.#places.startedMs);
      }
    }
    this.#ephemeral(`${where}.ephemeral-storage`, pod, places);
    const processes = [...places.containers.values()].map(({ group }) => group);
    const count = (at: KernelAt) => processes.reduce((sum, id) => sum + (at.group(id)?.pids.length ?? Number.NaN), 0);
    this.#hold(`${where}.process_stats.process_count`, pod.process_stats?.process_count, exactly(count));
  }

  /** The sum of the containers' files and logs, the volumes on disk, and the hosts file. */
  #ephemeral(where: string, pod: Summary["pods"][number], { containers, volumes, hosts }: PodPlaces): void {
    const stats = pod["ephemeral-storage"];
    const onDisk = ["scratch", "settings"].flatMap((name) => volumes.get(name)?.files ?? []);
    const parts = [...[...containers.values()].flatMap(({ written, logs }) => [written, logs]), ...onDisk, hosts];
    const sum = {
      bytes: parts.reduce((total, { bytes }) => total + bytes, 0),
      inodes: parts.reduce((total, { inodes }) => total + inodes, 0),
    };
    this.#room(where, stats, this.#places.room);
    this.#files(where, stats, sum, { bytes: 65_536, inodes: 5 });
    this.#time(`${where}.time`, stats?.time, this.#places.startedMs);
  }

  #usage(where: string, id: string, { cpu, memory, swap, io }: Usage): void {
    const of = (value: (group: GroupAt) => number) => (at: KernelAt) => {
      const group = at.group(id);
      return group === undefined ? Number.NaN : value(group);
    };
    const slack = id.includes("/kubepods") ? MEMORY_SLACK : SHARED_SLACK;
    this.#time(`${where}.cpu.time`, cpu?.time);
    this.#hold(
      `${where}.cpu.usageCoreNanoSeconds`,
      cpu?.usageCoreNanoSeconds,
      counter(of((group) => group.number("cpuacct/cpuacct.usage"))),
    );
    this.#rate(where, cpu);
    const stat = (key: string) => of((group) => group.keyed("memory/memory.stat", key));
    this.#time(`${where}.io.time`, io?.time);
    this.#time(`${where}.memory.time`, memory?.time);
    this.#hold(
      `${where}.memory.usageBytes`,
      memory?.usageBytes,
      gauge(
        slack,
        of((group) => group.number("memory/memory.usage_in_bytes")),
      ),
    );
    this.#hold(
      `${where}.memory.workingSetBytes`,
      memory?.workingSetBytes,
      gauge(
        slack,
        of(({ workingSet }) => workingSet),
      ),
    );
    this.#hold(`${where}.memory.rssBytes`, memory?.rssBytes, gauge(slack, stat("total_rss")));
    this.#hold(`${where}.memory.pageFaults`, memory?.pageFaults, counter(stat("pgfault")));
    this.#hold(`${where}.memory.majorPageFaults`, memory?.majorPageFaults, counter(stat("pgmajfault")));
    const limit = (at: KernelAt) =>
      id === "/" ? at.memoryBytes : of((group) => group.limit("memory/memory.limit_in_bytes"))(at);
    const left = (at: KernelAt) => limit(at) - of(({ workingSet }) => workingSet)(at);
    this.#hold(`${where}.memory.availableBytes`, memory?.availableBytes, gauge(slack, left));
    this.#time(`${where}.swap.time`, swap?.time);
    this.#hold(`${where}.swap.swapUsageBytes`, swap?.swapUsageBytes, gauge(0, stat("total_swap")));
    const swapLimit = (at: KernelAt) =>
      id === "/" ? at.swapBytes : of((group) => group.limit("memory/memory.memsw.limit_in_bytes"))(at);
    this.#hold(
      `${where}.swap.swapAvailableBytes`,
      swap?.swapAvailableBytes,
      gauge(0, (at) => swapLimit(at) - stat("total_swap")(at)),
    );
  }

  /** The rate is the counter's growth since the earlier reading, divided by the time in between. */
  #rate(where: string, cpu: CpuStats | undefined): void {
    const earlier = cpuAt(this.#earlier.summary, where);
    if (cpu?.usageNanoCores === undefined || earlier === undefined) return;
    const grown = (cpu.usageCoreNanoSeconds - earlier.usageCoreNanoSeconds) * 1000;
    const [shortest, longest] = [
      this.#look.askedMs - this.#earlier.answeredMs,
      this.#look.answeredMs - this.#earlier.askedMs,
    ];
    const bound = gauge<KernelAt>(1, (at) => grown / (at === this.#before ? longest : shortest));
    this.#hold(`${where}.cpu.usageNanoCores`, cpu.usageNanoCores, bound);
  }

  #network(where: string, id: string, network: NetworkStats | undefined): void {
    if (network === undefined) return;
    this.#time(`${where}.network.time`, network.time);
    const own = network.name === "" ? [] : [{ ...network, path: `${where}.network` }];
    const all = network.interfaces.map((one) => ({ ...one, path: `${where}.network.interfaces[${one.name}]` }));
    const lasting = lastingLinks(this.#before.links, this.#after.links);
    for (const { path, name, rxBytes, rxErrors, txBytes, txErrors } of [...own, ...all]) {
      if (id === "/" && !lasting.has(name)) continue;
      const of = (place: number) => counter<KernelAt>((at) => at.group(id)?.network.get(name)?.[place] ?? Number.NaN);
      this.#hold(`${path}.rxBytes`, rxBytes, of(0));
      this.#hold(`${path}.rxErrors`, rxErrors, of(2));
      this.#hold(`${path}.txBytes`, txBytes, of(8));
      this.#hold(`${path}.txErrors`, txErrors, of(10));
    }
  }

  /** Other programs write to the machine's disk meanwhile, and some values were read a minute ago. */
  #room(where: string, stats: FsStats | undefined, room: Room): void {
    this.#hold(
      `${where}.capacityBytes`,
      stats?.capacityBytes,
      exactly(() => room.capacity),
    );
    this.#hold(
      `${where}.inodes`,
      stats?.inodes,
      exactly(() => room.inodes),
    );
    this.#hold(
      `${where}.availableBytes`,
      stats?.availableBytes,
      gauge(room.capacity / 20, () => room.available),
    );
    this.#hold(
      `${where}.inodesFree`,
      stats?.inodesFree,
      gauge(room.inodes / 20, () => room.inodesFree),
    );
  }

  #files(where: string, stats: FsStats | undefined, files: Files, slack: Files): void {
    this.#hold(
      `${where}.usedBytes`,
      stats?.usedBytes,
      gauge(slack.bytes, () => files.bytes),
    );
    this.#hold(
      `${where}.inodesUsed`,
      stats?.inodesUsed,
      gauge(slack.inodes, () => files.inodes),
    );
  }
}

function cpuAt({ node, pods }: Summary, where: string): CpuStats | undefined {
  if (where === ".node") return node.cpu;
  const [, system] = /^\.node\.systemContainers\[(.*)\]$/.exec(where) ?? [];
  if (system !== undefined) return node.systemContainers.find(({ name }) => name === system)?.cpu;
  const [, pod, container] = /^\.pods\[([^\]]*)\](?:\.containers\[([^\]]*)\])?$/.exec(where) ?? [];
  const found = pods.find(({ podRef }) => podRef.name === pod);
  return container === undefined ? found?.cpu : found?.containers.find(({ name }) => name === container)?.cpu;
}
