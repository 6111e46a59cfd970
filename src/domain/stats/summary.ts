/** Builds the response of /stats/summary from one reading of the machine and the known pods. */
import { apiTime } from "../../base/timestamp.ts";
import { hostsFileOf } from "../container-config/hosts-file.ts";
import { podDirectory, podLogDirectory } from "../pod/pod-names.ts";
import type { FilesystemUsage } from "../runtime/image.ts";
import { type CpuAndMemory, cpuAndMemoryOf, type GroupStatsOptions, ioOf, networkOf } from "./group-stats.ts";
import type { StatsContainer, StatsPod } from "./stats-pods.ts";
import {
  type CgroupStats,
  containerIdOfGroup,
  type FileUsage,
  podUidOfGroup,
  type StatsReading,
} from "./stats-reading.ts";
import { ephemeralOf, filesOf, layerOf, wholeOf } from "./storage-stats.ts";
import type { ContainerStats, NodeStats, PodStats, Summary, VolumeStats } from "./summary-shape.ts";

/** The cgroups that the summary lists by a fixed name. An empty path matches no cgroup. */
export interface SystemGroups {
  readonly kubelet: string;
  readonly runtime: string;
  readonly misc: string;
  readonly pods: string;
}

export interface StatsDirectories {
  readonly root: string;
  readonly podLogs: string;
}

export interface SummaryInputs {
  readonly nodeName: string;
  readonly reading: StatsReading;
  readonly options: GroupStatsOptions;
  readonly pods: readonly StatsPod[];
  readonly systemGroups: SystemGroups;
  readonly startedWallMs: number;
}

export interface ReportedVolume {
  readonly stats: VolumeStats;
  /** Whether the volume counts towards the pod's ephemeral storage. */
  readonly ephemeral: boolean;
}

export interface StorageInputs {
  readonly directories: StatsDirectories;
  /** What containers wrote, by container ID. */
  readonly layers: ReadonlyMap<string, FilesystemUsage>;
  readonly images: FilesystemUsage | undefined;
  /** The file system of the writable layers; undefined if the images are on the same one. */
  readonly containers: FilesystemUsage | undefined;
  readonly volumesOf: (uid: string) => readonly ReportedVolume[];
  readonly processes: { readonly count: number; readonly max: number };
  readonly nowWallMs: number;
}

/** The full summary. */
export function summaryOf(inputs: SummaryInputs, storage: StorageInputs): Summary {
  const { reading, options, pods } = inputs;
  const groups = groupsByOwner(reading.groups);
  const root = groups.machine;
  const whole = reading.filesystems.get(storage.directories.root);
  const layersOf = (usage: FilesystemUsage) => layerOf(usage, reading.filesystems.get(usage.mountpoint));
  const node: NodeStats = {
    nodeName: inputs.nodeName,
    systemContainers: systemContainers(inputs, (group) => ioOf(group, options)),
    startTime: apiTime(reading.bootedWallMs),
    ...(root === undefined ? {} : { ...cpuAndMemoryOf(root, options), ...ioOf(root, options), ...networkOf(root) }),
    ...(whole === undefined ? {} : { fs: wholeOf(whole, reading.readWallMs) }),
    ...(storage.images === undefined
      ? {}
      : {
          runtime: { imageFs: layersOf(storage.images), containerFs: layersOf(storage.containers ?? storage.images) },
        }),
    rlimit: { time: apiTime(storage.nowWallMs), maxpid: storage.processes.max, curproc: storage.processes.count },
  };
  return { node, pods: pods.flatMap((pod) => podStats(pod, groups, inputs, storage)) };
}

/** The reduced summary: CPU, memory and swap. */
export function usageSummaryOf(inputs: SummaryInputs): Summary {
  const { reading, options } = inputs;
  const groups = groupsByOwner(reading.groups);
  const root = groups.machine;
  return {
    node: {
      nodeName: inputs.nodeName,
      systemContainers: systemContainers(inputs, () => ({})),
      startTime: apiTime(root?.createdWallMs ?? reading.bootedWallMs),
      ...(root === undefined ? {} : cpuAndMemoryOf(root, options)),
    },
    pods: inputs.pods.flatMap((pod) => {
      const containers = pod.containers.flatMap((container) => usageOf(container, groups, options));
      return containers.length === 0 ? [] : [{ ...headOf(pod), containers, ...ofPod(pod, groups, options) }];
    }),
  };
}

export interface OwnedGroups {
  readonly machine: CgroupStats | undefined;
  readonly byContainer: ReadonlyMap<string, CgroupStats>;
  readonly byPod: ReadonlyMap<string, CgroupStats>;
}

export function groupsByOwner(groups: readonly CgroupStats[]): OwnedGroups {
  const byContainer = new Map<string, CgroupStats>();
  const byPod = new Map<string, CgroupStats>();
  for (const group of groups) {
    const container = containerIdOfGroup(group.id);
    const pod = container === undefined ? podUidOfGroup(group.id) : undefined;
    if (container !== undefined) byContainer.set(container, group);
    if (pod !== undefined) byPod.set(pod, group);
  }
  return { machine: groups.find(({ id }) => id === "/"), byContainer, byPod };
}

function systemContainers(
  { reading, systemGroups, options, startedWallMs }: SummaryInputs,
  more: (group: CgroupStats) => Partial<ContainerStats>,
): readonly ContainerStats[] {
  return (["kubelet", "runtime", "misc", "pods"] as const).flatMap((name) => {
    const group = reading.groups.find(({ id }) => id === systemGroups[name]);
    if (group === undefined) return [];
    // The creation time of the kubelet's cgroup says nothing about this process.
    const startTime = apiTime(name === "kubelet" ? startedWallMs : group.createdWallMs);
    return [{ name, startTime, ...cpuAndMemoryOf(group, options), ...more(group) }];
  });
}

const headOf = ({ name, namespace, uid, createdWallMs }: StatsPod): Pick<PodStats, "podRef" | "startTime"> => ({
  podRef: { name, namespace, uid },
  startTime: apiTime(createdWallMs),
});

function ofPod({ uid }: StatsPod, groups: OwnedGroups, options: GroupStatsOptions): CpuAndMemory {
  const group = groups.byPod.get(uid);
  return group === undefined ? {} : cpuAndMemoryOf(group, options);
}

/** Empty for a container that was gone when its cgroup was read. */
function usageOf(
  { id, name, createdWallMs }: StatsContainer,
  groups: OwnedGroups,
  options: GroupStatsOptions,
): readonly ContainerStats[] {
  const group = groups.byContainer.get(id);
  return group === undefined ? [] : [{ name, startTime: apiTime(createdWallMs), ...cpuAndMemoryOf(group, options) }];
}

function podStats(
  pod: StatsPod,
  groups: OwnedGroups,
  inputs: SummaryInputs,
  storage: StorageInputs,
): readonly PodStats[] {
  const { reading, options } = inputs;
  const containers = pod.containers.flatMap((container) => {
    const group = groups.byContainer.get(container.id);
    if (group === undefined) return [];
    return usageOf(container, groups, options).map((usage) => ({
      ...usage,
      ...ioOf(group, options),
      ...storageOfContainer(pod, container, reading, storage),
    }));
  });
  if (containers.length === 0) return [];
  const own = groups.byPod.get(pod.uid);
  const sandbox = groups.byContainer.get(pod.sandboxId);
  const volumes = storage.volumesOf(pod.uid);
  const reported = volumes.map(({ stats }) => stats);
  return [
    {
      ...headOf(pod),
      containers,
      ...ofPod(pod, groups, options),
      ...(own === undefined ? {} : ioOf(own, options)),
      ...(sandbox === undefined ? {} : networkOf(sandbox)),
      ...(reported.length === 0 ? {} : { volume: reported }),
      "ephemeral-storage": ephemeralOf(
        reading.filesystems.get(storage.directories.root),
        {
          containers,
          volumes: volumes.filter(({ ephemeral }) => ephemeral).map(({ stats }) => stats),
          others: podFiles(storage.directories, pod).flatMap((path) => reading.files.get(path) ?? []),
        },
        reading.readWallMs,
      ),
      process_stats: { process_count: processesOf(pod, groups) },
    },
  ];
}

const processesOf = ({ containers }: StatsPod, groups: OwnedGroups): number =>
  containers.reduce((sum, { id }) => sum + (groups.byContainer.get(id)?.processes?.processes ?? 0), 0);

function storageOfContainer(
  pod: StatsPod,
  container: StatsContainer,
  reading: StatsReading,
  { layers, directories }: StorageInputs,
): Pick<ContainerStats, "rootfs" | "logs"> {
  const layer = layers.get(container.id);
  const room = layer === undefined ? undefined : reading.filesystems.get(layer.mountpoint);
  const logs: FileUsage | undefined = reading.files.get(containerLogs(directories, pod, container));
  const nodeRoom = reading.filesystems.get(directories.root);
  return {
    rootfs: layerOf(layer, room),
    ...(logs === undefined ? {} : { logs: filesOf(logs, nodeRoom, reading.readWallMs) }),
  };
}

export const containerLogs = ({ podLogs }: StatsDirectories, pod: StatsPod, { name }: StatsContainer): string =>
  `${podLogDirectory(podLogs, pod)}/${name}`;

/** Files that count towards the pod but towards none of its containers. */
const podFiles = ({ root, podLogs }: StatsDirectories, pod: StatsPod): readonly string[] => [
  podLogDirectory(podLogs, pod),
  hostsFileOf(podDirectory(root, pod.uid)),
];

/** Every path whose files the summary reports. */
export const summaryFiles = (directories: StatsDirectories, pods: readonly StatsPod[]): readonly string[] =>
  pods.flatMap((pod) => [
    ...podFiles(directories, pod),
    ...pod.containers.map((container) => containerLogs(directories, pod, container)),
  ]);
