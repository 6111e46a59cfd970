/**
 * The Machine port, from /proc, /sys and the few calls that Node has. Numbers are what the Go kubelet reports for the
 * same machine: the working set is that of the root cgroup as cAdvisor computes it, and processes are the tasks of
 * /proc/loadavg.
 */
import { lookup as resolve } from "node:dns/promises";
import { stat, statfs } from "node:fs/promises";
import { raceAbort } from "../../concurrency/abort.ts";
import type { FilesystemFacts, InterfaceAddress, Machine } from "../../ports/machine.ts";
import { CpuCount } from "./cpu-count.ts";
import { Interfaces } from "./interfaces.ts";
import { KernelFiles, requiredNumberOf } from "./kernel-files.ts";
import { readMachineFacts, readThermalPaths } from "./machine-facts.ts";
import { findDefaultRouteAddress } from "./routes.ts";
import { readSubordinateIds } from "./subordinate-ids.ts";

const CGROUPS = "/sys/fs/cgroup";

export interface MachineOptions {
  /** The directory below which /proc, /sys and /etc are read. */
  readonly root?: string;
  readonly interfaces?: () => readonly InterfaceAddress[];
}

export function createMachine({ root = "/", interfaces: ask }: MachineOptions = {}): Machine {
  const files = new KernelFiles(root);
  const cpus = new CpuCount(files);
  const interfaces = new Interfaces(files, ask);
  const lookups = new Map<string, Promise<readonly string[]>>();
  return {
    facts: () => readMachineFacts(files, cpus),
    subordinateIds: (user) => readSubordinateIds(files, user),
    thermalPaths: () => readThermalPaths(files, cpus),
    memoryWorkingSetBytes: () => readWorkingSet(files),
    memoryAvailableBytes: () => readMemoryAvailable(files),
    processCount: () => readProcessCount(files),
    filesystem,
    addresses: () => interfaces.read(),
    defaultRouteAddress: async (family) => findDefaultRouteAddress(files, await interfaces.read(), family),
    lookup: (name, signal) => raceAbort(lookUpOnce(lookups, name), signal),
  };
}

/** The root cgroup of v2 has no usage file: its usage is anonymous plus cached memory, as v1 counts it. */
async function readWorkingSet(files: KernelFiles): Promise<bigint> {
  const unified = await files.readFirst(`${CGROUPS}/cgroup.controllers`);
  const directory = unified === undefined ? `${CGROUPS}/memory` : CGROUPS;
  const path = `${directory}/memory.stat`;
  const stat = await files.read(path);
  const value = (key: string) => requiredNumberOf(stat, key, path);
  const usage =
    unified === undefined
      ? BigInt((await files.read(`${directory}/memory.usage_in_bytes`)).trim())
      : value("anon") + value("file");
  const inactive = value(unified === undefined ? "total_inactive_file" : "inactive_file");
  return usage < inactive ? 0n : usage - inactive;
}

async function readMemoryAvailable(files: KernelFiles): Promise<bigint> {
  const path = "/proc/meminfo";
  return requiredNumberOf(await files.read(path), "MemAvailable", path) * 1024n;
}

/** Threads count: each takes a process ID. */
async function readProcessCount(files: KernelFiles): Promise<number> {
  const loadavg = await files.read("/proc/loadavg");
  const count = /^\S+ \S+ \S+ \d+\/(\d+) /.exec(loadavg)?.[1];
  if (count === undefined) throw new Error(`/proc/loadavg reads ${JSON.stringify(loadavg)}`);
  return Number(count);
}

async function filesystem(path: string): Promise<FilesystemFacts> {
  const [facts, { dev }] = await Promise.all([statfs(path, { bigint: true }), stat(path, { bigint: true })]);
  return {
    device: String(dev),
    capacityBytes: facts.blocks * facts.frsize,
    availableBytes: facts.bavail * facts.frsize,
    inodes: facts.files,
    inodesFree: facts.ffree,
  };
}

/**
 * A resolver that does not answer holds one of Node's four threads; a second lookup of the same name must not hold
 * another.
 */
function lookUpOnce(lookups: Map<string, Promise<readonly string[]>>, name: string): Promise<readonly string[]> {
  const running = lookups.get(name);
  if (running !== undefined) return running;
  const lookup = lookUp(name).finally(() => lookups.delete(name));
  lookups.set(name, lookup);
  return lookup;
}

async function lookUp(name: string): Promise<readonly string[]> {
  try {
    return (await resolve(name, { all: true, order: "verbatim" })).map(({ address }) => address);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOTFOUND") return [];
    throw error;
  }
}
