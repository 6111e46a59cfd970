/**
 * Counts logical CPUs that are online and have a place in the topology, of the NUMA nodes if there are any. Also counts
 * their cores and sockets. They are the machine's CPUs, not those this process may use. A large machine has hundreds of
 * files about them, so they are read again only when the list of online CPUs has changed.
 */
import type { KernelFiles } from "./kernel-files.ts";

const CPUS = "/sys/devices/system/cpu";
const NODES = "/sys/devices/system/node";
const CPU_NAME = /^cpu\d+$/;

export interface Cpus {
  readonly count: number;
  /** Such as "0-3". */
  readonly online: string;
  readonly cores: number;
  readonly sockets: number;
}

export class CpuCount {
  readonly #files: KernelFiles;
  #last: { readonly online: string; readonly cpus: Cpus } | undefined;

  constructor(files: KernelFiles) {
    this.#files = files;
  }

  async read(): Promise<Cpus> {
    const online = await this.#files.readFirst(`${CPUS}/online`);
    if (online !== undefined && online === this.#last?.online) return this.#last.cpus;
    const counted = await countCpus(this.#files, online === undefined ? undefined : parseRanges(online));
    const cpus = { ...counted, online: online ?? `0-${counted.count - 1}` };
    this.#last = online === undefined ? undefined : { online, cpus };
    return cpus;
  }
}

/** A kernel without a list of online CPUs has no hotplug, so all CPUs are online. */
async function countCpus(files: KernelFiles, online: ReadonlySet<number> | undefined): Promise<Omit<Cpus, "online">> {
  const nodes = await files.list(NODES, /^node\d+$/);
  const directories = nodes.length > 0 ? nodes.map((node) => `${NODES}/${node}`) : [CPUS];
  const [cores, sockets] = [new Set<string>(), new Set<string>()];
  let [placed, packaged, all] = [0, 0, 0];
  for (const directory of directories) {
    for (const name of await files.list(directory, CPU_NAME)) {
      const topology = `${directory}/${name}/topology`;
      const socket = await files.readFirst(`${topology}/physical_package_id`);
      const core = await files.readFirst(`${topology}/core_id`);
      all += 1;
      if (socket === undefined) continue;
      packaged += 1;
      if (core === undefined || !(online?.has(Number(name.slice(3))) ?? true)) continue;
      placed += 1;
      cores.add(`${socket} ${core}`);
      sockets.add(socket);
    }
  }
  // A machine that shows neither nodes nor packages has as many CPUs as it lists.
  const count = nodes.length === 0 && packaged === 0 ? all : placed;
  return { count, cores: cores.size, sockets: sockets.size };
}

/** "0-3,5" */
function parseRanges(text: string): ReadonlySet<number> {
  const numbers = text.split(",").flatMap((range) => {
    const [first = Number.NaN, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  return new Set(numbers);
}
