/**
 * The metric families of /metrics/cadvisor for one cgroup, and the value of each. Names and help texts are cAdvisor's,
 * because its users read them.
 */
import type { Labels } from "../../base/metrics/family.ts";
import { DISKS, NETWORK } from "./cadvisor-devices.ts";
import { bound, counter, type GroupFamily, gauge, type TellsGroup } from "./cadvisor-family.ts";
import { type CgroupStats, type PressureStats, workingSetBytes } from "./stats-reading.ts";

const S = 1e9;

type Part<K extends "cpu" | "memory" | "processes"> = NonNullable<CgroupStats[K]>;

const ofCpu =
  (value: (cpu: Part<"cpu">) => number): TellsGroup =>
  ({ cpu }, tell) => {
    if (cpu !== undefined) tell(value(cpu));
  };
/** Only if there is a quota. */
const ofQuota =
  (value: (cpu: Part<"cpu">) => number): TellsGroup =>
  ({ cpu }, tell) => {
    if (cpu !== undefined && cpu.quotaUs !== 0) tell(value(cpu));
  };
const ofMemory =
  (value: (memory: Part<"memory">) => number): TellsGroup =>
  ({ memory }, tell) => {
    if (memory !== undefined) tell(value(memory));
  };
const ofProcesses =
  (value: (processes: Part<"processes">) => number): TellsGroup =>
  ({ processes }, tell) => {
    if (processes !== undefined) tell(value(processes));
  };
const always =
  (value: number): TellsGroup =>
  (_, tell) =>
    tell(value);
/** No limit is reported as 0. */
const limit = (bytes: number) => (bytes === Infinity ? 0 : bytes);

const ALL_CPUS: Labels = [["cpu", "total"]];

const CPU: readonly GroupFamily[] = [
  counter(
    "container_cpu_user_seconds_total",
    "Cumulative user cpu time consumed in seconds.",
    ofCpu(({ userNs }) => userNs / S),
  ),
  counter(
    "container_cpu_system_seconds_total",
    "Cumulative system cpu time consumed in seconds.",
    ofCpu(({ systemNs }) => systemNs / S),
  ),
  counter("container_cpu_usage_seconds_total", "Cumulative cpu time consumed in seconds.", ({ cpu }, tell) => {
    if (cpu !== undefined && cpu.usageNs !== 0) tell(cpu.usageNs / S, ALL_CPUS);
  }),
  counter(
    "container_cpu_cfs_periods_total",
    "Number of elapsed enforcement period intervals.",
    ofQuota(({ periods }) => periods),
  ),
  counter(
    "container_cpu_cfs_throttled_periods_total",
    "Number of throttled period intervals.",
    ofQuota((cpu) => cpu.throttledPeriods),
  ),
  counter(
    "container_cpu_cfs_throttled_seconds_total",
    "Total time duration the container has been throttled.",
    ofQuota((cpu) => cpu.throttledNs / S),
  ),
  counter(
    "container_cpu_cfs_burst_periods_total",
    "Number of periods when burst occurs.",
    ofQuota(({ burstPeriods }) => burstPeriods),
  ),
  counter(
    "container_cpu_cfs_burst_seconds_total",
    "Total time duration the container has been bursted.",
    ofQuota(({ burstNs }) => burstNs / S),
  ),
  bound(
    "container_spec_cpu_period",
    "CPU period of the container.",
    ofCpu(({ periodUs }) => periodUs),
  ),
  bound(
    "container_spec_cpu_quota",
    "CPU quota of the container.",
    ofQuota(({ quotaUs }) => quotaUs),
  ),
  bound(
    "container_spec_cpu_shares",
    "CPU share of the container.",
    ofCpu(({ shares }) => shares),
  ),
];

const STATES = ["iowaiting", "running", "sleeping", "stopped", "uninterruptible"].map(
  (state): Labels => [["state", state]],
);

/** cAdvisor no longer measures these, and reports constants. */
const NOT_MEASURED: readonly GroupFamily[] = [
  gauge("container_cpu_load_average_10s", "Value of container cpu load average over the last 10 seconds.", always(0)),
  gauge(
    "container_cpu_load_d_average_10s",
    "Value of container cpu load.d average over the last 10 seconds.",
    always(0),
  ),
  gauge("container_health_state", "The result of the container's health check", always(-1)),
  gauge("container_tasks_state", "Number of tasks in given state", (_, tell) => {
    for (const state of STATES) tell(0, state);
  }),
];

const faultLabels = (kind: string): readonly Labels[] =>
  ["container", "hierarchy"].map((scope) => [
    ["failure_type", kind],
    ["scope", scope],
  ]);
const [FAULTS, MAJOR_FAULTS] = [faultLabels("pgfault"), faultLabels("pgmajfault")];

const MEMORY: readonly GroupFamily[] = [
  gauge(
    "container_memory_cache",
    "Number of bytes of page cache memory.",
    ofMemory(({ cacheBytes }) => cacheBytes),
  ),
  gauge(
    "container_memory_rss",
    "Size of RSS in bytes.",
    ofMemory(({ rssBytes }) => rssBytes),
  ),
  gauge(
    "container_memory_kernel_usage",
    "Size of kernel memory allocated in bytes.",
    ofMemory(({ kernelBytes }) => kernelBytes),
  ),
  gauge(
    "container_memory_mapped_file",
    "Size of memory mapped files in bytes.",
    ofMemory(({ mappedBytes }) => mappedBytes),
  ),
  gauge(
    "container_memory_swap",
    "Container swap usage in bytes.",
    ofMemory(({ swapBytes }) => swapBytes),
  ),
  counter(
    "container_memory_failcnt",
    "Number of memory usage hits limits",
    ofMemory(({ failures }) => failures),
  ),
  gauge(
    "container_memory_usage_bytes",
    "Current memory usage in bytes, including all memory regardless of when it was accessed",
    ofMemory(({ usageBytes }) => usageBytes),
  ),
  gauge(
    "container_memory_max_usage_bytes",
    "Maximum memory usage recorded in bytes",
    ofMemory(({ peakBytes }) => peakBytes),
  ),
  gauge("container_memory_working_set_bytes", "Current working set in bytes.", ofMemory(workingSetBytes)),
  gauge(
    "container_memory_total_active_file_bytes",
    "Current total active file in bytes.",
    ofMemory((memory) => memory.activeFileBytes),
  ),
  gauge(
    "container_memory_total_inactive_file_bytes",
    "Current total inactive file in bytes.",
    ofMemory((memory) => memory.inactiveFileBytes),
  ),
  counter("container_memory_failures_total", "Cumulative count of memory allocation failures.", ({ memory }, tell) => {
    if (memory === undefined) return;
    for (const labels of FAULTS) tell(memory.pageFaults, labels);
    for (const labels of MAJOR_FAULTS) tell(memory.majorPageFaults, labels);
  }),
  bound(
    "container_spec_memory_limit_bytes",
    "Memory limit for the container.",
    ofMemory(({ limitBytes }) => limit(limitBytes)),
  ),
  bound(
    "container_spec_memory_swap_limit_bytes",
    "Memory swap limit for the container.",
    ofMemory((memory) => limit(memory.swapLimitBytes)),
  ),
  bound(
    "container_spec_memory_reservation_limit_bytes",
    "Memory reservation limit for the container.",
    ofMemory((memory) => limit(memory.reservationBytes)),
  ),
  counter(
    "container_oom_events_total",
    "Count of out of memory events observed for the container",
    ({ memory }, tell) => tell(memory?.oomKills ?? 0),
  ),
];

const OPEN_FILES: Labels = [["ulimit", "max_open_files"]];

const PROCESSES: readonly GroupFamily[] = [
  gauge(
    "container_processes",
    "Number of processes running inside the container.",
    ofProcesses(({ processes }) => processes),
  ),
  gauge(
    "container_file_descriptors",
    "Number of open file descriptors for the container.",
    ofProcesses(({ openFiles }) => openFiles),
  ),
  gauge(
    "container_sockets",
    "Number of open sockets for the container.",
    ofProcesses(({ sockets }) => sockets),
  ),
  gauge(
    "container_threads_max",
    "Maximum number of threads allowed inside the container, infinity if value is zero",
    ofProcesses((processes) => processes.threadsMax),
  ),
  gauge(
    "container_threads",
    "Number of threads running inside the container",
    ofProcesses(({ threads }) => threads),
  ),
  gauge(
    "container_ulimits_soft",
    "Soft ulimit values for the container root process. Unlimited if -1, except priority and nice",
    ({ processes }, tell) => {
      if (processes?.openFilesMax !== undefined) tell(processes.openFilesMax, OPEN_FILES);
    },
  ),
];

const ofPressure =
  (what: "cpu" | "memory" | "io", line: keyof PressureStats): TellsGroup =>
  (group, tell) =>
    tell((group[what]?.pressure?.[line].totalUs ?? 0) / 1e6);

const pressure = (what: "cpu" | "memory" | "io", named: string): readonly GroupFamily[] => [
  counter(
    `container_pressure_${what}_stalled_seconds_total`,
    `Total time duration no tasks in the container could make progress due to ${named} congestion.`,
    ofPressure(what, "full"),
  ),
  counter(
    `container_pressure_${what}_waiting_seconds_total`,
    `Total time duration tasks in the container have waited due to ${named} congestion.`,
    ofPressure(what, "some"),
  ),
];

export const GROUP_FAMILIES: readonly GroupFamily[] = [
  ...CPU,
  ...NOT_MEASURED,
  ...MEMORY,
  ...PROCESSES,
  ...NETWORK,
  ...DISKS,
];

/** Only if the kernel accounts for pressure. */
export const PRESSURE_FAMILIES: readonly GroupFamily[] = [
  ...pressure("cpu", "CPU"),
  ...pressure("memory", "memory"),
  ...pressure("io", "IO"),
];
