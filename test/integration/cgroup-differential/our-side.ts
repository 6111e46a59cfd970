/** Deckhand's results for the same pods, in the format of the cgroup files and of CRI. */
import { readdir, readFile } from "node:fs/promises";
import { cpus } from "node:os";
import type { Container, Pod } from "../../../src/api/gen/core-v1.ts";
import { LatestCell } from "../../../src/concurrency/latest-cell.ts";
import { LatestTable } from "../../../src/concurrency/latest-table.ts";
import { LoopHeartbeats } from "../../../src/concurrency/loop-heartbeats.ts";
import { type NodeCgroups, ResourcesController } from "../../../src/controllers/resources/resources.ts";
import type { CgroupValues } from "../../../src/domain/resources/cgroup-values.ts";
import { type PodResourcePlan, podResourcePlan } from "../../../src/domain/resources/pod-resource-plan.ts";
import type { QosCgroupState } from "../../../src/domain/resources/qos-cgroup-state.ts";
import type { LinuxResources } from "../../../src/domain/runtime/resources.ts";
import type { Cgroups } from "../../../src/ports/cgroups.ts";
import { inWholePages } from "../../../src/wire/cgroupfs/settings.ts";
import { v1Settings } from "../../../src/wire/cgroupfs/v1-settings.ts";
import { hostClock } from "../../../src/wire/host/clock.ts";
import { createMachine } from "../../../src/wire/proc-stats/machine.ts";
import { waitUntil } from "../../cluster/wait.ts";
import type { CpusetFiles, CriResources, GroupFiles } from "./go-side.ts";

export interface MachineSide {
  readonly cpus: number;
  readonly memoryBytes: bigint;
  readonly pidsMax: bigint;
  readonly hugepageSizes: readonly string[];
}

export async function readMachine(): Promise<MachineSide> {
  const memory = /^MemTotal:\s+(\d+) kB$/m.exec(await readFile("/proc/meminfo", "utf8"))?.[1] ?? "0";
  const number = async (file: string) => BigInt((await readFile(file, "utf8")).trim());
  const [pidMax, threadsMax] = [await number("/proc/sys/kernel/pid_max"), await number("/proc/sys/kernel/threads-max")];
  const sizes = (await readdir("/sys/kernel/mm/hugepages")).map((name) => Number(/-(\d+)kB$/.exec(name)?.[1]) * 1024);
  return {
    cpus: cpus().length,
    memoryBytes: BigInt(memory) * 1024n,
    pidsMax: pidMax < threadsMax ? pidMax : threadsMax,
    hugepageSizes: sizes.map((bytes) => (bytes >= 2 ** 30 ? `${bytes / 2 ** 30}GB` : `${bytes / 2 ** 20}MB`)),
  };
}

export const planFor = (
  machine: MachineSide,
  settings: { readonly podPidsLimit: bigint; readonly periodUs: number },
): PodResourcePlan =>
  podResourcePlan({
    cgroupVersion: 1,
    cpuCfsQuota: true,
    cpuCfsQuotaPeriodUs: settings.periodUs,
    podPidsLimit: settings.podPidsLimit,
    memoryCapacityBytes: machine.memoryBytes,
    hugepageSizes: machine.hugepageSizes,
    singleProcessOomKill: true,
    swap: { kind: "none" },
  });

/** Runs the controller that limits all pods together on the kernel's cgroups, and returns its events and errors. */
export async function eventsOfKubepods(pods: Cgroups, parent: string): Promise<readonly string[]> {
  const events: string[] = [];
  const controller = new ResourcesController({
    cgroups: new LatestCell<NodeCgroups | undefined>({ pods, machine: pods }),
    admittedPods: new LatestTable<string, never>(),
    qosCgroups: new LatestCell<QosCgroupState>({ kind: "pending" }),
    machine: createMachine(),
    events: { emit: (_, type, reason, message) => events.push(`${type} ${reason} ${message}`) },
    clock: hostClock,
    log: { info: () => {}, error: (message, error) => events.push(`${message}: ${String(error)}`) },
    heartbeat: new LoopHeartbeats(hostClock).expect("any", 0),
    misconfigurationIsFatal: false,
    settings: {
      nodeName: "n1",
      cgroupRoot: [parent],
      reservations: { systemReserved: new Map(), kubeReserved: new Map() },
      enforce: new Set(["pods"]),
      systemReservedCgroup: "",
      kubeReservedCgroup: "",
    },
  });
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  await waitUntil("an event", 10_000, () => Promise.resolve(events.length > 0));
  stop.abort(new Error("the test has ended"));
  await running;
  return events;
}

const UNLIMITED = "9223372036854771712";

/** The files of a new cgroup before anything is written to it, with all of the machine's CPUs. */
const untouched = (cpuset: CpusetFiles): GroupFiles => ({
  "cpu/cpu.shares": "1024",
  "cpu/cpu.cfs_quota_us": "-1",
  "cpu/cpu.cfs_period_us": "100000",
  "memory/memory.limit_in_bytes": UNLIMITED,
  "memory/memory.memsw.limit_in_bytes": UNLIMITED,
  "pids/pids.max": "max",
  ...cpuset,
});

/** The contents that the kernel shows once the values are written. */
export function expectedFiles(values: CgroupValues, cpuset: CpusetFiles): GroupFiles {
  const written = v1Settings(values)
    .filter(({ controller }) => controller !== "hugetlb")
    .map(({ controller, file, text, alsoShownAs }) => [`${controller}/${file}`, shown(alsoShownAs?.[0] ?? text)]);
  return { ...untouched(cpuset), ...(Object.fromEntries(written) as Partial<GroupFiles>) };
}

/** A value above the kernel's maximum is no limit. */
const shown = (text: string) => (/^\d{19}$/.test(text) && BigInt(text) > BigInt(UNLIMITED) ? UNLIMITED : text);

/** The resources as CRI carries them: zeros omitted, page sizes sorted by name. */
export function inCri(resources: LinuxResources): CriResources {
  const entries = {
    cpu_period: resources.cpuPeriodUs,
    cpu_quota: resources.cpuQuotaUs,
    cpu_shares: resources.cpuShares,
    memory_limit_in_bytes: numberOf(resources.memoryLimitBytes),
    memory_swap_limit_in_bytes: numberOf(resources.memorySwapLimitBytes),
    oom_score_adj: resources.oomScoreAdj,
    hugepage_limits: resources.hugepageLimits?.map(({ pageSize, limitBytes }) => ({
      page_size: pageSize,
      ...(limitBytes !== 0n && { limit: Number(limitBytes) }),
    })),
    unified: resources.unified,
  };
  return canonical(Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined)));
}

const numberOf = (value: bigint | undefined) => (value === undefined ? undefined : Number(value));

/** Sorts the page sizes: their order is that of a directory listing, which means nothing. */
export const canonical = (resources: CriResources): CriResources => {
  const { hugepage_limits, ...rest } = resources;
  if (hugepage_limits === undefined) return rest;
  return { ...rest, hugepage_limits: hugepage_limits.toSorted((a, b) => (a.page_size < b.page_size ? -1 : 1)) };
};

export const containersOf = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.containers ?? []),
  ...(spec?.initContainers ?? []),
];

/** The cgroup files that a runtime writes for these resources. */
export function containerFiles(resources: LinuxResources, cpuset: CpusetFiles): GroupFiles {
  const { cpuShares, cpuQuotaUs, cpuPeriodUs, memoryLimitBytes, memorySwapLimitBytes } = resources;
  const files = expectedFiles(
    {
      ...(cpuShares !== undefined && { cpuShares }),
      ...(cpuQuotaUs !== undefined && { cpuQuotaUs }),
      ...(cpuPeriodUs !== undefined && { cpuPeriodUs }),
      ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
    },
    cpuset,
  );
  if (memorySwapLimitBytes === undefined) return files;
  return { ...files, "memory/memory.memsw.limit_in_bytes": shown(inWholePages(memorySwapLimitBytes)) };
}
