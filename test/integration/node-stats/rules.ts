/** How close the values of two nodes on one machine must be, and which intended differences there are. */
import type { Differences, Nearness, Rules } from "./compare.ts";

const MIB = 1024 ** 2;
const within = (absolute: number, share: number): Nearness => ({ kind: "within", absolute, share });
const perSecond = (absolute: number, share: number): Nearness => ({ kind: "perSecond", absolute, share });
const present = (why: string): Nearness => ({ kind: "present", why });
const same: Nearness = { kind: "same" };
const between: Nearness = { kind: "between" };
const time = (seconds: number): Nearness => ({ kind: "time", seconds });

/** Both agents report the same values of the whole machine, but some seconds apart, on a busy machine. */
const MACHINE = present("the machine's own, at another moment");

export const SUMMARY_RULES: Rules = [
  [/\.uid$/, present("each pod's own")],
  // For volumes, the Go kubelet reports what it measured in about the last minute.
  [/\.time$/, time(150)],
  [/^\.node\.startTime$/, time(60)],
  [/\.startTime$/, time(180)],
  [/^\.node\.(?:cpu|network|systemContainers\[kubelet\])/, MACHINE],
  [/^\.node\.memory\.(?:pageFaults|majorPageFaults)$/, within(10_000, 0.2)],
  [/^\.node\.memory/, within(512 * MIB, 0.2)],
  [/^\.node\.rlimit\.curproc$/, within(100, 0.3)],
  [/\.(?:availableBytes|freeBytes|inodesFree|inodesUsed|usedBytes)$/, within(8 * MIB, 0.05)],
  // The largest burner may use a twentieth of a CPU, and gets less on a busy machine.
  [/\.usageNanoCores$/, within(60_000_000, 0.3)],
  [/\.usageCoreNanoSeconds$/, perSecond(60_000_000, 0.3)],
  [/\.memory\.(?:usageBytes|workingSetBytes|rssBytes)$/, within(6 * MIB, 0.2)],
  [/\.(?:pageFaults|majorPageFaults)$/, within(3_000, 0.5)],
  [/^\.pods\[hostnet\]\.network/, MACHINE],
  [/\.network\..*[rt]xBytes$/, within(20_000, 0.2)],
];

export const SUMMARY_DIFFERENCES: Differences = [];

export const RESOURCE_RULES: Rules = [
  [/^node_memory/, within(512 * MIB, 0.2)],
  [/^node_cpu/, perSecond(0.6, 0.5)],
  [/_cpu_usage_seconds_total\{/, perSecond(0.06, 0.3)],
  [/memory_working_set_bytes\{/, within(6 * MIB, 0.2)],
  [/start_time_seconds\{/, within(180, 0)],
];

/** The series of the machine and of the cgroup that holds both agents: their values change between two readings. */
const SHARED_ROW = "id=/(?:deckhand-[^,]*)?,";
const ofShared = (families: string) => new RegExp(`^container_${families}\\{.*${SHARED_ROW}`);

export const CADVISOR_RULES: Rules = [
  [/^#/, same],
  [/^container_(?:last_seen|start_time_seconds)\{/, within(180, 0)],
  [ofShared("cpu_.*_total"), perSecond(0.8, 0.5)],
  [ofShared("memory_failures_total"), within(50_000, 0.3)],
  [ofShared("memory_.*"), within(512 * MIB, 0.3)],
  [ofShared("(?:processes|file_descriptors|sockets|threads)"), within(100, 0.5)],
  [ofShared("fs_.*"), within(64 * MIB, 0.05)],
  [/^container_network_.*pod=hostnet/, present("each node's own")],
  // These include interfaces of other tests, with any traffic.
  [/^container_network_.*id=\/,/, between],
  [/^container_cpu_cfs_throttled_seconds_total\{/, perSecond(0.6, 0.3)],
  [/^container_cpu_cfs_.*periods_total\{/, perSecond(6, 0.3)],
  [/^container_cpu_.*_total\{/, perSecond(0.06, 0.3)],
  [/^container_memory_failures_total\{/, within(3_000, 0.5)],
  [/^container_memory_/, within(6 * MIB, 0.2)],
  [/^container_network_.*packets_total\{/, within(100, 0.3)],
  [/^container_network_.*bytes_total\{/, within(20_000, 0.2)],
];

export const CADVISOR_DIFFERENCES: Differences = [];
