/** Cgroups, readings and pods for tests of the stats and metrics computed from them. */

import type { StatsPod } from "../../src/domain/stats/stats-pods.ts";
import type {
  CgroupCpuStats,
  CgroupMemoryStats,
  CgroupStats,
  StatsReading,
} from "../../src/domain/stats/stats-reading.ts";

export const READ_MS = Date.parse("2026-11-15T21:13:04.518Z");
export const CREATED_MS = Date.parse("2026-11-15T21:12:15.535Z");

export const cpu = (changes: Partial<CgroupCpuStats> = {}): CgroupCpuStats => ({
  usageNs: 2_471_042_997,
  userNs: 2_000_000_000,
  systemNs: 400_000_000,
  periods: 0,
  throttledPeriods: 0,
  throttledNs: 0,
  burstPeriods: 0,
  burstNs: 0,
  shares: 2,
  periodUs: 100_000,
  quotaUs: 0,
  ...changes,
});

export const memory = (changes: Partial<CgroupMemoryStats> = {}): CgroupMemoryStats => ({
  usageBytes: 30_000_000,
  peakBytes: 31_000_000,
  failures: 0,
  kernelBytes: 400_000,
  cacheBytes: 29_000_000,
  rssBytes: 57_344,
  swapBytes: 0,
  mappedBytes: 0,
  activeFileBytes: 16_384,
  inactiveFileBytes: 8_000_000,
  pageFaults: 2_013,
  majorPageFaults: 3,
  oomKills: 0,
  limitBytes: 100_000_000,
  swapLimitBytes: 100_000_000,
  reservationBytes: Infinity,
  ...changes,
});

export const group = (id: string, changes: Partial<CgroupStats> = {}): CgroupStats => ({
  id,
  readWallMs: READ_MS,
  createdWallMs: CREATED_MS,
  cpu: cpu(),
  memory: memory(),
  io: { devices: [] },
  processes: { processes: 1, openFiles: 3, sockets: 0, threads: 1, threadsMax: 0 },
  ...changes,
});

export const reading = (groups: readonly CgroupStats[], changes: Partial<StatsReading> = {}): StatsReading => ({
  readWallMs: READ_MS,
  bootedWallMs: Date.parse("2026-11-15T14:23:37.900Z"),
  knowsPressure: false,
  groups,
  mounts: [],
  filesystems: new Map(),
  files: new Map(),
  ...changes,
});

export const CONTAINER_ID = "c".repeat(64);
export const SANDBOX_ID = "5".repeat(64);
export const POD_UID = "31f732eb-a48f-45d6-a813-1b999668fbba";
export const POD_GROUP = `/kubepods/burstable/pod${POD_UID}`;

export const pod = (changes: Partial<StatsPod> = {}): StatsPod => ({
  uid: POD_UID,
  namespace: "default",
  name: "busy",
  sandboxId: SANDBOX_ID,
  createdWallMs: CREATED_MS,
  containers: [{ id: CONTAINER_ID, name: "holder", createdWallMs: CREATED_MS, image: "busybox:1" }],
  ...changes,
});

/** The root cgroup, the pods' cgroup, a pod, its sandbox and its container. */
export const groupsOfPod = (): readonly CgroupStats[] => [
  group("/"),
  group("/kubepods"),
  group(POD_GROUP),
  group(`${POD_GROUP}/${SANDBOX_ID}`),
  group(`${POD_GROUP}/${CONTAINER_ID}`),
];
