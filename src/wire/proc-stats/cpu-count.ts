/**
 * Logical CPUs that are online and have a place in the topology, of the NUMA nodes where there are some. The machine's, not those this process
 * may use. A large machine has hundreds of files about them, which are read again only when the list of those online has changed.
 */
import type { KernelFiles } from "./kernel-files.ts";

const CPUS = "/sys/devices/system/cpu";
const NODES = "/sys/devices/system/node";
const CPU_NAME = /^cpu\d+$/;

export class CpuCount {
  readonly #files: KernelFiles;
  #last: { readonly online: string; readonly count: number } | undefined;

  constructor(files: KernelFiles) {
    this.#files = files;
  }

  async read(): Promise<number> {
    const online = await this.#files.readFirst(`${CPUS}/online`);
    if (online !== undefined && online === this.#last?.online) return this.#last.count;
    const count = await countCpus(this.#files, online === undefined ? undefined : parseRanges(online));
    this.#last = online === undefined ? undefined : { online, count };
    return count;
  }
}

/** Without a list of those online the kernel has no hotplug, and all are. */
async function countCpus(files: KernelFiles, online: ReadonlySet<number> | undefined): Promise<number> {
  const nodes = await files.list(NODES, /^node\d+$/);
  const folders = nodes.length > 0 ? nodes.map((node) => `${NODES}/${node}`) : [CPUS];
  let [placed, packaged, all] = [0, 0, 0];
  for (const folder of folders) {
    for (const name of await files.list(folder, CPU_NAME)) {
      const topology = `${folder}/${name}/topology`;
      const hasPackage = (await files.readFirst(`${topology}/physical_package_id`)) !== undefined;
      const hasCore = (await files.readFirst(`${topology}/core_id`)) !== undefined;
      all += 1;
      if (hasPackage) packaged += 1;
      if (hasPackage && hasCore && (online?.has(Number(name.slice(3))) ?? true)) placed += 1;
    }
  }
  // A machine that tells neither nodes nor packages has as many as it shows.
  return nodes.length === 0 && packaged === 0 ? all : placed;
}

/** "0-3,5" */
function parseRanges(text: string): ReadonlySet<number> {
  const numbers = text.split(",").flatMap((range) => {
    const [first = Number.NaN, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  return new Set(numbers);
}
