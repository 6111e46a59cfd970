/** The HostInspector port, from /proc, /sys and the files themselves. */

import { access, constants, open, readdir, stat } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import type { AgentProcess, CgroupTree, Listener } from "../../domain/doctor/facts.ts";
import { kubeletKind } from "../../domain/doctor/kubelet-process.ts";
import type { HostInspector } from "../../ports/host-inspector.ts";
import { errnoOf } from "../host/errno.ts";
import { fileLocks, KERNEL_LOCKS } from "../host/kernel-locks.ts";
import { KERNEL_FILE_BYTES_MAX } from "../limits.ts";
import { KernelFiles } from "./kernel-files.ts";
import { parentOf, readProcesses, readSocketOwners, type SeenProcess } from "./processes.ts";
import { readListeners } from "./sockets.ts";

export interface HostInspectorOptions {
  /** The directory below which /proc, /sys, /run and the other paths are read. */
  readonly root?: string;
  readonly searchPath?: string;
}

const COMMAND_CHARS_MAX = 120;
const CGROUPS = "/sys/fs/cgroup";

export function createHostInspector({ root = "/", searchPath }: HostInspectorOptions = {}): HostInspector {
  const files = new KernelFiles(root);
  return {
    fileSystems: async () =>
      linesOf(await files.read("/proc/filesystems")).map((line) => line.split("\t").at(-1) ?? ""),
    swapDevices: async () =>
      linesOf(await files.read("/proc/swaps"))
        .slice(1)
        .map((line) => line.split(/\s+/)[0] ?? ""),
    cgroupTree: () => cgroupTree(files),
    isRunBySystemd: () => isThere(files.path("/run/systemd/system")),
    listeners: (ports) => listeners(files, new Set(ports)),
    agents: (lockFile) => agents(files, lockFile),
    hasProgram: (name) => hasProgram(name, searchPath ?? process.env["PATH"] ?? ""),
    text: (path) => text(files.path(path)),
    names: async (directory) => {
      const found = await unlessMissing(readdir(files.path(directory)));
      return (found ?? []).toSorted((a, b) => (a < b ? -1 : 1));
    },
    async requireReadable(path) {
      // Opened, because an access check is not enough: a device may be there and refuse.
      await (await open(files.path(path), constants.O_RDONLY | constants.O_NONBLOCK)).close();
    },
    nearest: (path) => nearest(files, path),
    async writeTrouble(directory) {
      try {
        await access(files.path(directory), constants.W_OK | constants.X_OK);
        return undefined;
      } catch (error) {
        return errnoOf(error);
      }
    },
  };
}

const linesOf = (content: string) => content.split("\n").filter((line) => line !== "");

const unlessMissing = <T>(read: Promise<T>): Promise<T | undefined> =>
  read.catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  });

const isThere = async (path: string) => (await unlessMissing(stat(path))) !== undefined;

async function text(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(KERNEL_FILE_BYTES_MAX), 0, KERNEL_FILE_BYTES_MAX, 0);
    if (bytesRead === KERNEL_FILE_BYTES_MAX) throw new Error(`${path} is longer than ${KERNEL_FILE_BYTES_MAX} bytes`);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

async function nearest(files: KernelFiles, path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    if (at === "/" || (await isThere(files.path(at)))) return at;
  }
}

async function hasProgram(name: string, searchPath: string): Promise<boolean> {
  for (const directory of searchPath.split(delimiter).filter((each) => each !== "")) {
    const found = await access(join(directory, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}

async function cgroupTree(files: KernelFiles): Promise<CgroupTree | undefined> {
  const mounts = linesOf(await files.read("/proc/self/mounts")).map((line) => line.split(" "));
  const below = mounts.filter(([, path = ""]) => path === CGROUPS || path.startsWith(`${CGROUPS}/`));
  const isReadOnly = ([, , , options = ""]: readonly string[]) => options.split(",").includes("ro");
  const unified = below.find(([, path, type]) => path === CGROUPS && type === "cgroup2");
  if (unified !== undefined) {
    const controllers = (await files.read(`${CGROUPS}/cgroup.controllers`)).trim().split(/\s+/);
    return { version: 2, controllers, readOnly: isReadOnly(unified) };
  }
  const v1 = below.filter(([, , type]) => type === "cgroup");
  if (v1.length === 0) return undefined;
  const controllers = v1.flatMap(([, , , options = ""]) => options.split(","));
  return { version: 1, controllers, readOnly: v1.some(isReadOnly) };
}

const commandText = (args: readonly string[]) => args.join(" ").slice(0, COMMAND_CHARS_MAX);

async function listeners(files: KernelFiles, ports: ReadonlySet<number>): Promise<readonly Listener[]> {
  const sockets = (await readListeners(files)).filter(({ port }) => ports.has(port));
  // Finding their owners is expensive: it reads every descriptor of every process.
  if (sockets.length === 0) return [];
  const owners = await readSocketOwners(files, new Set(sockets.map(({ inode }) => inode)));
  const commands = new Map((await readProcesses(files)).map(({ pid, args }) => [pid, commandText(args)]));
  return sockets.map(({ address, port, inode }) => {
    const pid = owners.get(inode);
    return { address, port, process: pid === undefined ? undefined : { pid, command: commands.get(pid) ?? "" } };
  });
}

async function agents(files: KernelFiles, lockFile: string): Promise<readonly AgentProcess[]> {
  const processes = await readProcesses(files);
  const holders = await lockHolders(files, lockFile, processes);
  return processes.flatMap(({ pid, args, executable, isInOurNetwork }) => {
    const kind = kubeletKind(args, executable);
    const holds = holders.has(pid);
    if (!holds && (kind === undefined || isInOurNetwork === false)) return [];
    return [{ pid, command: commandText(args), isDeckhand: holds || kind === "deckhand" }];
  });
}

/**
 * Deckhand's lock is held by a child of the agent, see wire/host/process-lock.ts. A file on another disk may have the
 * same inode number, and the device in the kernel's table is not always the one that stat reports. So the child's
 * command line must name the file, too.
 */
async function lockHolders(
  files: KernelFiles,
  lockFile: string,
  processes: readonly SeenProcess[],
): Promise<ReadonlySet<number | undefined>> {
  const facts = await unlessMissing(stat(files.path(lockFile)));
  if (facts === undefined) return new Set();
  const held = fileLocks(await files.read(KERNEL_LOCKS))
    .filter(({ waits, place }) => !waits && place.split(":")[2] === String(facts.ino))
    .map(({ pid }) => pid);
  const ours = processes.filter(({ pid, args }) => held.includes(pid) && args.includes(lockFile));
  return new Set(await Promise.all(ours.map(({ pid }) => parentOf(files, pid))));
}
