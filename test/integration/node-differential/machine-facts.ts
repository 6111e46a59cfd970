/**
 * The values of a Node that depend on the machine, read from the machine without either agent. Matching values become
 * markers.
 */
import { readFile, statfs } from "node:fs/promises";
import { cpus, release } from "node:os";
import { join } from "node:path";
import type { Image } from "../../../src/domain/runtime/image.ts";
import { connectCri } from "../../../src/wire/cri/client.ts";
import { hostClock } from "../../../src/wire/host/clock.ts";
import type { ClusterNode } from "../../cluster/cluster.ts";
import { bytesText } from "../cgroup-differential/relative.ts";

/** By the path of a field: its value on this machine, and the marker that replaces the value. */
export type MachineFacts = ReadonlyMap<string, readonly [value: string, marker: string]>;

const optional = (file: string) => readFile(file, "utf8").catch(() => "");

export async function machineFacts(node: ClusterNode): Promise<MachineFacts> {
  const memory = 1024n * BigInt(/^MemTotal:\s+(\d+) kB$/m.exec(await readFile("/proc/meminfo", "utf8"))?.[1] ?? "0");
  const { blocks, bsize } = await statfs(join(node.directory, "lib"), { bigint: true });
  const disk = blocks * bsize;
  const processors = String(cpus().length);
  const machineId = (await optional("/etc/machine-id")).trim();
  const uuid = (await optional("/sys/class/dmi/id/product_uuid")).trim();
  return new Map([
    ["status.capacity.cpu", [processors, "<number of CPUs>"]],
    ["status.allocatable.cpu", [processors, "<number of CPUs>"]],
    ["status.capacity.memory", [bytesText(memory), "<memory>"]],
    ["status.allocatable.memory", [bytesText(lessOnePercent(memory)), "<memory> - 1%"]],
    ["status.capacity.ephemeral-storage", [bytesText(disk), "<disk>"]],
    ["status.allocatable.ephemeral-storage", [String(lessOnePercent(disk)), "<disk> - 1%"]],
    ["status.nodeInfo.bootID", [(await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim(), "<boot id>"]],
    ["status.nodeInfo.machineID", [machineId, "<machine id>"]],
    ["status.nodeInfo.systemUUID", [uuid === "" ? machineId : uuid, "<system UUID>"]],
    ["status.nodeInfo.kernelVersion", [release(), "<kernel>"]],
    ["status.nodeInfo.osImage", [await osName(), "<operating system>"]],
    ["status.addresses.InternalIP", [node.address, "<address>"]],
  ]);
}

/** A percentage threshold is stored in single precision. */
const lessOnePercent = (bytes: bigint) => bytes - BigInt(Math.trunc(Number(bytes) * Math.fround(0.01)));

const osName = async () => /^PRETTY_NAME="?(.*?)"?$/m.exec(await readFile("/etc/os-release", "utf8"))?.[1] ?? "Linux";

/** The images as the runtime lists them: digests and sizes depend on when and where they were built. */
export async function imagesOfRuntime(node: ClusterNode): Promise<readonly Image[]> {
  const cri = connectCri({ endpoint: node.criEndpoint, onMalformed: () => {} }, hostClock);
  try {
    return await cri.images.listImages({}, AbortSignal.timeout(10_000));
  } finally {
    cri.close();
  }
}

interface ReportedImage {
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

/** The reported images in their order. Digests and sizes that are as the runtime lists them become markers. */
export function neutralImages(reported: readonly ReportedImage[], listed: readonly Image[]): unknown {
  return reported.map(({ names, sizeBytes }) => {
    const image = listed.find(({ tags, digests }) => names.every((name) => [...tags, ...digests].includes(name)));
    return {
      names: names.map((name) => (image?.digests.includes(name) ? name.replace(/[0-9a-f]{64}$/, "<digest>") : name)),
      sizeBytes: image?.sizeBytes === BigInt(sizeBytes) ? "<size>" : sizeBytes,
    };
  });
}
