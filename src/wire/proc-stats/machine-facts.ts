/**
 * Facts about the machine. The sources and their order are cAdvisor's, because nodeInfo and capacity are compared with
 * a Go kubelet's.
 */
import type { MachineFacts } from "../../ports/machine.ts";
import type { CpuCount } from "./cpu-count.ts";
import { type KernelFiles, requiredNumberOf } from "./kernel-files.ts";

const CPUS = "/sys/devices/system/cpu";
const HUGEPAGES = "/sys/kernel/mm/hugepages";

export async function readMachineFacts(files: KernelFiles, cpus: CpuCount): Promise<MachineFacts> {
  const meminfo = await files.read("/proc/meminfo");
  const { count, online, cores, sockets } = await cpus.read();
  const kib = (key: string) => requiredNumberOf(meminfo, key, "/proc/meminfo") * 1024n;
  return {
    cpus: count,
    onlineCpus: online,
    physicalCores: cores,
    sockets,
    memoryBytes: kib("MemTotal"),
    swapBytes: kib("SwapTotal"),
    hugepages: await readHugepages(files),
    machineId: (await files.readFirst("/etc/machine-id", "/var/lib/dbus/machine-id")) ?? "",
    systemUuid: await readSystemUuid(files),
    bootId: (await files.readFirst("/proc/sys/kernel/random/boot_id")) ?? "",
    kernelVersion: (await files.readFirst("/proc/sys/kernel/osrelease")) ?? "Unknown",
    osImage: await readOsImage(files),
    hostname: (await files.read("/proc/sys/kernel/hostname")).trim(),
    pidsMax: await readPidsMax(files),
    selinux: await isSelinuxOn(files),
    apparmor: await isApparmorOn(files),
  };
}

async function readHugepages(files: KernelFiles): Promise<ReadonlyMap<bigint, bigint>> {
  const sizes = new Map<bigint, bigint>();
  for (const name of await files.list(HUGEPAGES, /^hugepages-\d+kB$/)) {
    const pageBytes = BigInt(name.replace(/\D/g, "")) * 1024n;
    sizes.set(pageBytes, BigInt((await files.read(`${HUGEPAGES}/${name}/nr_hugepages`)).trim()) * pageBytes);
  }
  return sizes;
}

/**
 * The firmware's UUID; on POWER and s390x the device tree's and the machine ID. The machine ID is also the fallback
 * elsewhere.
 */
const readSystemUuid = async (files: KernelFiles) =>
  (await files.readFirst(
    "/sys/class/dmi/id/product_uuid",
    "/proc/device-tree/system-id",
    "/proc/device-tree/vm,uuid",
    "/etc/machine-id",
  )) ?? "";

async function readOsImage(files: KernelFiles): Promise<string> {
  const release = await files.readFirst("/etc/os-release", "/usr/lib/os-release");
  if (release === undefined) return "Unknown";
  const name = /PRETTY_NAME=(.*)/.exec(release)?.[1];
  return name === undefined ? "Linux" : name.replace(/^"+|"+$/g, "");
}

/**
 * True if the SELinux file system is mounted and a policy is loaded: without a policy every process has the kernel's
 * label.
 */
async function isSelinuxOn(files: KernelFiles): Promise<boolean> {
  if ((await files.readFirst("/sys/fs/selinux/enforce")) === undefined) return false;
  const label = await files.readFirst("/proc/self/attr/current");
  return label?.replaceAll("\0", "") !== "kernel";
}

async function isApparmorOn(files: KernelFiles): Promise<boolean> {
  const isThere = (await files.list("/sys/kernel/security", /^apparmor$/)).length > 0;
  return isThere && (await files.readFirst("/sys/module/apparmor/parameters/enabled")) === "Y";
}

/** The throttling directories of the CPUs that the machine may have; if it does not say which, of those it has. */
export async function readThermalPaths(files: KernelFiles, cpus: CpuCount): Promise<readonly string[]> {
  const possible = await files.readFirst(`${CPUS}/possible`);
  const ranges = (possible === undefined ? undefined : rangesIn(possible)) ?? [[0, (await cpus.read()).count - 1]];
  const paths: string[] = [];
  for (const [first, last] of ranges) {
    for (let cpu = first; cpu <= last; cpu += 1) {
      const names = await files.list(`${CPUS}/cpu${cpu}`, /^thermal_throttle$/);
      paths.push(...names.map((name) => `${CPUS}/cpu${cpu}/${name}`));
    }
  }
  return paths;
}

/** Parses `0-3,8`; undefined for anything else. */
function rangesIn(text: string): readonly (readonly [first: number, last: number])[] | undefined {
  if (!/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(text)) return undefined;
  return text.split(",").map((range) => {
    const [first = 0, last = first] = range.split("-").map(Number);
    return [first, last] as const;
  });
}

async function readPidsMax(files: KernelFiles): Promise<number> {
  const limits = await Promise.all(
    ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"].map((path) => files.readFirst(path)),
  );
  return Math.min(...limits.flatMap((limit) => (limit === undefined ? [] : Number(limit))));
}
