/** One-line fixtures of eviction: pods and their stats, by name. */
import type { Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import type { ContainerStats, FsStats, MemoryStats, PodStats } from "../../src/domain/stats/summary-shape.ts";
import { pod } from "./pods.ts";

const TIME = "2026-01-01T00:00:00Z";

export const namedPod = (name: string, spec: Partial<PodSpec> = {}): Pod => pod(spec, { name, uid: name });

export const filesOf = (usedBytes: number, inodesUsed = usedBytes): FsStats => ({ time: TIME, usedBytes, inodesUsed });

export const memoryOf = (workingSetBytes: number): MemoryStats => ({
  time: TIME,
  usageBytes: 0,
  workingSetBytes,
  rssBytes: 0,
  pageFaults: 0,
  majorPageFaults: 0,
});

export const containerStats = (name: string, more: Partial<ContainerStats> = {}): ContainerStats => ({
  name,
  startTime: TIME,
  ...more,
});

export const podStats = (uid: string, more: Partial<PodStats> = {}): PodStats => ({
  podRef: { name: uid, namespace: "default", uid },
  startTime: TIME,
  containers: [],
  ...more,
});

export function statsByUid(all: readonly PodStats[]): (uid: string) => PodStats | undefined {
  const byUid = new Map(all.map((one) => [one.podRef.uid, one]));
  return (uid) => byUid.get(uid);
}
