/** Compares the values of metrics with the kernel's files of the same cgroup, network or file system. */
import { cpus } from "node:os";
import { readExposition } from "../../support/exposition.ts";
import { counter, type Expectation, exactly, gauge, wrong } from "./expectation.ts";
import { type GroupAt, type KernelAt, lastingLinks, type Room } from "./kernel.ts";

const MIB = 1024 ** 2;
type Labels = Readonly<Record<string, string>>;
type OfGroup = (group: GroupAt) => number;

const stat =
  (key: string): OfGroup =>
  (group) =>
    group.keyed("memory/memory.stat", key);
const cfs =
  (key: string): OfGroup =>
  (group) =>
    group.keyed("cpu/cpu.stat", key);
const ticks =
  (key: string): OfGroup =>
  (group) =>
    group.keyed("cpuacct/cpuacct.stat", key) / 100;
const cpuSeconds: OfGroup = (group) => group.number("cpuacct/cpuacct.usage") / 1e9;
const workingSet: OfGroup = (group) => group.workingSet;

/** The kernel charges memory to each CPU in batches, so its own files are not exact. */
const MEMORY_SLACK = 1 * MIB;
/** For the machine's root cgroup and the cgroup of the agents, which are never idle. */
const SHARED_SLACK = 512 * MIB;

interface OfGroups {
  readonly kind: "counter" | "gauge";
  /** For a pod's cgroup, and for a shared one. */
  readonly slack: readonly [own: number, shared: number];
  readonly of: OfGroup;
}
const growing = (of: OfGroup): OfGroups => ({ kind: "counter", slack: [0, 0], of });
const bytes = (of: OfGroup): OfGroups => ({ kind: "gauge", slack: [MEMORY_SLACK, SHARED_SLACK], of });
const number = (of: OfGroup): OfGroups => ({ kind: "gauge", slack: [0, 200], of });
const setting = (of: OfGroup): OfGroups => ({ kind: "gauge", slack: [0, 0], of });

const OF_GROUPS: Readonly<Record<string, OfGroups>> = {
  container_cpu_usage_seconds_total: growing(cpuSeconds),
  container_cpu_user_seconds_total: growing(ticks("user")),
  container_cpu_system_seconds_total: growing(ticks("system")),
  container_cpu_cfs_periods_total: growing(cfs("nr_periods")),
  container_cpu_cfs_throttled_periods_total: growing(cfs("nr_throttled")),
  container_cpu_cfs_throttled_seconds_total: growing((group) => cfs("throttled_time")(group) / 1e9),
  container_cpu_cfs_burst_periods_total: growing(cfs("nr_bursts")),
  container_cpu_cfs_burst_seconds_total: growing((group) => cfs("burst_time")(group) / 1e9),
  container_spec_cpu_shares: setting((group) => group.number("cpu/cpu.shares")),
  container_spec_cpu_period: setting((group) => group.number("cpu/cpu.cfs_period_us")),
  container_spec_cpu_quota: setting((group) => group.number("cpu/cpu.cfs_quota_us")),
  container_memory_cache: bytes(stat("total_cache")),
  container_memory_rss: bytes(stat("total_rss")),
  container_memory_mapped_file: bytes(stat("total_mapped_file")),
  container_memory_swap: bytes(stat("total_swap")),
  container_memory_total_active_file_bytes: bytes(stat("total_active_file")),
  container_memory_total_inactive_file_bytes: bytes(stat("total_inactive_file")),
  container_memory_kernel_usage: bytes((group) => group.number("memory/memory.kmem.usage_in_bytes")),
  container_memory_usage_bytes: bytes((group) => group.number("memory/memory.usage_in_bytes")),
  container_memory_working_set_bytes: bytes(workingSet),
  container_memory_max_usage_bytes: growing((group) => group.number("memory/memory.max_usage_in_bytes")),
  container_memory_failcnt: growing((group) => group.number("memory/memory.failcnt")),
  container_spec_memory_limit_bytes: setting((group) => group.limit("memory/memory.limit_in_bytes")),
  container_spec_memory_swap_limit_bytes: setting((group) => group.limit("memory/memory.memsw.limit_in_bytes")),
  container_spec_memory_reservation_limit_bytes: setting((group) => group.limit("memory/memory.soft_limit_in_bytes")),
  container_oom_events_total: growing((group) => group.keyed("memory/memory.oom_control", "oom_kill")),
  container_processes: number((group) => group.pids.length),
  container_file_descriptors: { kind: "gauge", slack: [0, 1000], of: (group) => group.openFiles },
  container_sockets: number((group) => group.sockets),
  container_threads: number((group) => (group.id === "/" ? 0 : group.number("pids/pids.current"))),
  container_threads_max: setting((group) =>
    /^\d/.test(group.text("pids/pids.max")) ? group.number("pids/pids.max") : 0,
  ),
  container_ulimits_soft: setting((group) => group.openFilesMax ?? Number.NaN),
};

/** Index of the field in a line of /proc/net/dev. */
const NETWORK: Readonly<Record<string, number>> = {
  container_network_receive_bytes_total: 0,
  container_network_receive_packets_total: 1,
  container_network_receive_errors_total: 2,
  container_network_receive_packets_dropped_total: 3,
  container_network_transmit_bytes_total: 8,
  container_network_transmit_packets_total: 9,
  container_network_transmit_errors_total: 10,
  container_network_transmit_packets_dropped_total: 11,
};

/**
 * Index of the field in a line of /proc/diskstats, and divisor. cAdvisor divides milliseconds as if they were
 * nanoseconds.
 */
const DISKS: Readonly<Record<string, readonly [place: number, unit: number]>> = {
  container_fs_reads_total: [0, 1],
  container_fs_reads_merged_total: [1, 1],
  container_fs_sector_reads_total: [2, 1],
  container_fs_read_seconds_total: [3, 1e9],
  container_fs_writes_total: [4, 1],
  container_fs_writes_merged_total: [5, 1],
  container_fs_sector_writes_total: [6, 1],
  container_fs_write_seconds_total: [7, 1e9],
  container_fs_io_time_seconds_total: [9, 1e9],
  container_fs_io_time_weighted_seconds_total: [10, 1e9],
};

/** The slack allows for other programs that write to the machine's disk meanwhile. */
const FILE_SYSTEMS: Readonly<Record<string, readonly [of: (room: Room) => number, slack: number]>> = {
  container_fs_limit_bytes: [({ capacity }) => capacity, 0],
  container_fs_usage_bytes: [({ capacity, free }) => capacity - free, 1024 * MIB],
  container_fs_inodes_total: [({ inodes }) => inodes, 0],
  container_fs_inodes_free: [({ inodesFree }) => inodesFree, 100_000],
};

const MACHINE: Readonly<Record<string, Expectation<KernelAt>>> = {
  machine_memory_bytes: exactly(({ memoryBytes }) => memoryBytes),
  machine_swap_bytes: exactly(({ swapBytes }) => swapBytes),
  machine_cpu_cores: exactly(() => cpus().length),
  machine_cpu_physical_cores: exactly(({ cores }) => cores),
  machine_cpu_sockets: exactly(({ sockets }) => sockets),
};

/** For the root cgroup, whose files hold other values. */
const OF_MACHINE: Readonly<Record<string, Expectation<KernelAt>>> = {
  container_spec_memory_limit_bytes: exactly(({ memoryBytes }) => memoryBytes),
  container_spec_memory_swap_limit_bytes: exactly(({ swapBytes }) => swapBytes),
  container_start_time_seconds: gauge(61, ({ bootedMs }) => bootedMs / 1000),
};

/** The expectation for a metric of a cgroup; undefined for a metric with a constant value. */
function expectationOf(name: string, labels: Labels, id: string): Expectation<KernelAt> | undefined {
  const ofGroup = (of: OfGroup) => (at: KernelAt) => {
    const group = at.group(id);
    return group === undefined ? Number.NaN : of(group);
  };
  const { interface: network = "", device = "", failure_type: failure = "" } = labels;
  if (id === "/" && name in OF_MACHINE) return OF_MACHINE[name];
  if (name === "container_last_seen") return gauge(1, ({ wallMs }) => wallMs / 1000);
  if (name === "container_start_time_seconds")
    return gauge(
      10,
      ofGroup(({ createdMs }) => createdMs / 1000),
    );
  if (name === "container_memory_failures_total") return counter(ofGroup(stat(failure)));
  const place = NETWORK[name];
  if (place !== undefined) return counter(ofGroup((one) => one.network.get(network)?.[place] ?? Number.NaN));
  const disk = DISKS[name];
  if (disk !== undefined) return counter((at) => (at.disks.get(device)?.[disk[0]] ?? 0) / disk[1]);
  const [room, slack = 0] = FILE_SYSTEMS[name] ?? [];
  if (room !== undefined) return gauge(slack, (at) => room(at.mounts.get(device) ?? NO_ROOM));
  const known = OF_GROUPS[name];
  if (known === undefined) return undefined;
  const isShared = !id.includes("/kubepods");
  return { kind: known.kind, slack: known.slack[isShared ? 1 : 0], of: ofGroup(known.of) };
}

const NO_ROOM: Room = { capacity: NaN, free: NaN, available: NaN, inodes: NaN, inodesFree: NaN };

export interface Held {
  /** Number of values compared with the kernel's. */
  readonly compared: number;
  readonly troubles: readonly string[];
}

export function heldMetrics(
  text: string,
  groupOf: (name: string, labels: Labels) => string | undefined,
  before: KernelAt,
  after: KernelAt,
): Held {
  const troubles: string[] = [];
  const lasting = lastingLinks(before.links, after.links);
  let compared = 0;
  for (const { name, samples } of readExposition(text).values()) {
    for (const { labels, value } of samples) {
      const id = groupOf(name, labels);
      const expectation = MACHINE[name] ?? (id === undefined ? undefined : expectationOf(plain(name), labels, id));
      const { interface: link } = labels;
      if (expectation === undefined || (id === "/" && link !== undefined && !lasting.has(link))) continue;
      compared += 1;
      const trouble = wrong(value, expectation, before, after);
      if (trouble !== undefined) troubles.push(`${name}${JSON.stringify(labels)}: ${trouble}`);
    }
  }
  return { compared, troubles };
}

/** Resource metrics have the same values as cAdvisor's; nodes, pods and swap have other metric names. */
const plain = (name: string) =>
  name
    .replace(/^(?:node|pod)_/, "container_")
    .replace("container_swap_usage_bytes", "container_memory_swap")
    .replace("container_swap_limit_bytes", "container_spec_memory_swap_limit_bytes");
