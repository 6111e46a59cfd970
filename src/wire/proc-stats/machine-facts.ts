/** What the machine is. The sources and their order are those of cAdvisor, because nodeInfo and capacity are compared with a Go kubelet's. */
import type { MachineFacts } from "../../ports/machine.ts";
import type { CpuCount } from "./cpu-count.ts";
import { type KernelFiles, requiredNumberOf } from "./kernel-files.ts";

const HUGEPAGES = "/sys/kernel/mm/hugepages";

export async function readMachineFacts(files: KernelFiles, cpus: CpuCount): Promise<MachineFacts> {
  const meminfo = await files.read("/proc/meminfo");
  const kib = (key: string) => requiredNumberOf(meminfo, key, "/proc/meminfo") * 1024n;
  return {
    cpus: await cpus.read(),
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

/** The firmware's; on POWER and s390x the device tree's and the machine ID, the latter also wherever there is no other. */
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

async function readPidsMax(files: KernelFiles): Promise<number> {
  const limits = await Promise.all(
    ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"].map((path) => files.readFirst(path)),
  );
  return Math.min(...limits.flatMap((limit) => (limit === undefined ? [] : Number(limit))));
}
