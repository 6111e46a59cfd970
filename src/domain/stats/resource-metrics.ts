/**
 * The metric families of /metrics/resource, which metrics-server depends on. Each usage sample has the time at which it
 * was read.
 */
import type { Family, Labels, Sample } from "../../base/metrics/family.ts";
import type { StatsPod } from "./stats-pods.ts";
import { type CgroupStats, type StatsReading, workingSetBytes } from "./stats-reading.ts";
import { groupsByOwner, type OwnedGroups } from "./summary.ts";

type Value = (group: CgroupStats) => number | undefined;

const NS = 1e9;
const cpuSeconds: Value = ({ cpu }) => (cpu === undefined ? undefined : cpu.usageNs / NS);
const workingSet: Value = ({ memory }) => (memory === undefined ? undefined : workingSetBytes(memory));
const swapBytes: Value = ({ memory }) => memory?.swapBytes;
/** Undefined without a limit. Limit and usage are reported together, so the limit is never below the usage. */
const swapLimit: Value = ({ memory }) =>
  memory === undefined || memory.swapLimitBytes === Infinity
    ? undefined
    : Math.max(memory.swapLimitBytes, memory.swapBytes);

const NOT_ON_WINDOWS = "Reported only on non-windows systems";

interface Labelled {
  readonly labels: Labels;
  readonly group: CgroupStats;
}

/** Undefined: nothing could be read, and only that is reported. */
export function resourceFamilies(reading: StatsReading | undefined, pods: readonly StatsPod[]): readonly Family[] {
  const failed: Family = {
    name: "resource_scrape_error",
    help: "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
    kind: "gauge",
    samples: [{ labels: [], value: reading === undefined ? 1 : 0 }],
  };
  if (reading === undefined) return [failed];
  const groups = groupsByOwner(reading.groups);
  return [...containerFamilies(groups, pods), ...nodeFamilies(groups), ...podFamilies(groups, pods), failed].filter(
    ({ samples }) => samples.length > 0,
  );
}

function containerFamilies(groups: OwnedGroups, pods: readonly StatsPod[]): readonly Family[] {
  const containers = pods.flatMap(({ name: pod, namespace, containers }) =>
    containers.flatMap(({ id, name, createdWallMs }) => {
      const group = groups.byContainer.get(id);
      const labels: Labels = [
        ["container", name],
        ["namespace", namespace],
        ["pod", pod],
      ];
      return group === undefined ? [] : [{ labels, group, createdWallMs }];
    }),
  );
  return [
    timed(
      "container_cpu_usage_seconds_total",
      "[STABLE] Cumulative cpu time consumed by the container in core-seconds",
      "counter",
      containers,
      cpuSeconds,
    ),
    timed(
      "container_memory_working_set_bytes",
      "[STABLE] Current working set of the container in bytes",
      "gauge",
      containers,
      workingSet,
    ),
    {
      name: "container_start_time_seconds",
      help: "[STABLE] Start time of the container since unix epoch in seconds",
      kind: "gauge",
      samples: containers.map(({ labels, createdWallMs }) => ({ labels, value: createdWallMs / 1000 })),
    },
    timed(
      "container_swap_limit_bytes",
      `[ALPHA] Current amount of the container swap limit in bytes. ${NOT_ON_WINDOWS}`,
      "gauge",
      containers,
      swapLimit,
    ),
    timed(
      "container_swap_usage_bytes",
      `[ALPHA] Current amount of the container swap usage in bytes. ${NOT_ON_WINDOWS}`,
      "gauge",
      containers,
      swapBytes,
    ),
  ];
}

function nodeFamilies({ machine }: OwnedGroups): readonly Family[] {
  const node: readonly Labelled[] = machine === undefined ? [] : [{ labels: [], group: machine }];
  return [
    timed(
      "node_cpu_usage_seconds_total",
      "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
      "counter",
      node,
      cpuSeconds,
    ),
    timed(
      "node_memory_working_set_bytes",
      "[STABLE] Current working set of the node in bytes",
      "gauge",
      node,
      workingSet,
    ),
    timed(
      "node_swap_usage_bytes",
      `[ALPHA] Current swap usage of the node in bytes. ${NOT_ON_WINDOWS}`,
      "gauge",
      node,
      swapBytes,
    ),
  ];
}

function podFamilies(groups: OwnedGroups, pods: readonly StatsPod[]): readonly Family[] {
  const all = pods.flatMap(({ uid, name, namespace, containers }): readonly Labelled[] => {
    const group = groups.byPod.get(uid);
    const labels: Labels = [
      ["namespace", namespace],
      ["pod", name],
    ];
    const runs = containers.some(({ id }) => groups.byContainer.has(id));
    return group === undefined || !runs ? [] : [{ labels, group }];
  });
  return [
    timed(
      "pod_cpu_usage_seconds_total",
      "[STABLE] Cumulative cpu time consumed by the pod in core-seconds",
      "counter",
      all,
      cpuSeconds,
    ),
    timed("pod_memory_working_set_bytes", "[STABLE] Current working set of the pod in bytes", "gauge", all, workingSet),
    timed(
      "pod_swap_usage_bytes",
      `[ALPHA] Current amount of the pod swap usage in bytes. ${NOT_ON_WINDOWS}`,
      "gauge",
      all,
      swapBytes,
    ),
  ];
}

function timed(
  name: string,
  help: string,
  kind: "counter" | "gauge",
  labelled: readonly Labelled[],
  value: Value,
): Family {
  const samples = labelled.flatMap(({ labels, group }): readonly Sample[] => {
    const found = value(group);
    return found === undefined ? [] : [{ labels, value: found, atWallMs: Math.floor(group.readWallMs) }];
  });
  return { name, help, kind, samples };
}
