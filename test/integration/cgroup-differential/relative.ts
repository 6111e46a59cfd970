/**
 * Expresses values that depend on the machine relative to the machine's size, so that a recording holds on every
 * machine.
 */
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { parseQuantity, quantityValue } from "../../../src/base/quantity.ts";
import type { CpusetFiles, CriResources, GroupFiles } from "./go-side.ts";
import { containersOf, type MachineSide } from "./our-side.ts";

/** Replaces the cpuset of a cgroup that may use every CPU and memory node by a placeholder. */
export function withoutCpus(files: GroupFiles, all: CpusetFiles): GroupFiles {
  const named = (file: keyof CpusetFiles) => (files[file] === all[file] ? "<all of the machine>" : files[file]);
  return {
    ...files,
    "cpuset/cpuset.cpus": named("cpuset/cpuset.cpus"),
    "cpuset/cpuset.mems": named("cpuset/cpuset.mems"),
  };
}

/** Expresses a limit of all pods together as the difference from the whole machine. */
export const less = (value: string, whole: bigint, name: string): string => `<${name}> - ${whole - BigInt(value)}`;

export function ofTheMachine(files: GroupFiles, machine: MachineSide): GroupFiles {
  return {
    ...files,
    "cpu/cpu.shares": less(files["cpu/cpu.shares"], BigInt(machine.cpus) * 1024n, "shares of all CPUs"),
    "memory/memory.limit_in_bytes": less(files["memory/memory.limit_in_bytes"], machine.memoryBytes, "all memory"),
    "pids/pids.max": less(files["pids/pids.max"], machine.pidsMax, "all process ids"),
  };
}

/** Replaces hugepage limits of zero for all of the machine's page sizes by one value. */
export function withoutSizes(resources: CriResources, machine: MachineSide): object {
  const { hugepage_limits: limits, ...others } = resources;
  if (limits === undefined) return others;
  const sizes = limits.map(({ page_size }) => page_size).toSorted();
  const isNone = limits.every(({ limit }) => limit === undefined) && String(sizes) === String(machine.hugepageSizes);
  return { ...others, hugepage_limits: isNone ? "<none of any size>" : limits };
}

/** Without oom_score_adj, which is compared separately. */
export function withoutScore(resources: CriResources, machine: MachineSide): object {
  const { oom_score_adj: _, ...others } = resources;
  return withoutSizes(others, machine);
}

/**
 * The memory, in MiB, that decides a container's oom_score_adj where it is not the container's own request. A sidecar
 * counts at least as much as the smallest container of its pod; requests of the pod alone are split evenly.
 */
const COUNTED_MIB: Readonly<Record<string, number>> = {
  "sidecar-adds/s": 64,
  "sidecar-covers-init/s": 64,
  "init-before-sidecar/s": 16,
  "pod-level-limits/app": 32,
  "pod-level-limits/b": 32,
  "pod-level-request/app": 140,
  "pod-level-request/b": 116,
  "pod-level-over-containers/app": 44,
  "pod-level-over-containers/s": 44,
};

/** Replaces a score that follows from the machine's memory by the number of bytes it follows from. */
export function scoreOf(score: number | undefined, pod: Pod, container: string, machine: MachineSide): unknown {
  if (score === undefined || score === -997 || score === 1000) return score;
  const requested = containersOf(pod).find(({ name }) => name === container)?.resources?.requests?.["memory"] ?? "0";
  const mib = COUNTED_MIB[`${pod.metadata?.name}/${container}`];
  const bytes = mib === undefined ? quantityValue(parseQuantity(requested)) : BigInt(mib) * 2n ** 20n;
  const exact = 1000 - Number((1000n * bytes) / machine.memoryBytes);
  return score === Math.min(Math.max(exact, 3), 999) ? `that of ${bytes} bytes` : score;
}

const KIBI = 1024n;

/** As the API writes bytes: with the largest unit that leaves a whole number. */
export function bytesText(bytes: bigint): string {
  const units = ["", "Ki", "Mi", "Gi", "Ti"];
  let [left, unit] = [bytes, 0];
  while (left !== 0n && left % KIBI === 0n && unit + 1 < units.length) [left, unit] = [left / KIBI, unit + 1];
  return `${left}${units[unit]}`;
}
