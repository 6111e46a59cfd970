/**
 * The processes of this machine as /proc shows them. A process that ends while it is inspected is left out. Of a
 * process that may not be inspected only the command line is known.
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import type { KernelFiles } from "./kernel-files.ts";

export interface SeenProcess {
  readonly pid: number;
  readonly args: readonly string[];
  /** Empty if the process may not be inspected. */
  readonly executable: string;
  /** Whether the process is in this process's network namespace; undefined if it may not be inspected. */
  readonly isInOurNetwork: boolean | undefined;
}

const GONE = new Set(["ENOENT", "ESRCH"]);
const CLOSED = new Set([...GONE, "EACCES", "EPERM"]);

const unlessGone = <T>(read: () => Promise<T>) => unless(GONE, read);

async function unless<T>(codes: ReadonlySet<string>, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (codes.has((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

const pidsOf = (files: KernelFiles) => files.list("/proc", /^\d+$/);

/** Kernel threads, which have no command line, are left out. */
export async function readProcesses(files: KernelFiles): Promise<readonly SeenProcess[]> {
  const own = await readlink(files.path("/proc/self/ns/net"));
  const seen = await inBatches(await pidsOf(files), (pid) => readProcess(files, pid, own));
  return seen.filter((each) => each !== undefined);
}

async function readProcess(files: KernelFiles, pid: string, ownNetwork: string): Promise<SeenProcess | undefined> {
  const text = (await unlessGone(() => readFile(files.path(`/proc/${pid}/cmdline`), "utf8"))) ?? "";
  if (text === "") return undefined;
  const network = await unless(CLOSED, () => readlink(files.path(`/proc/${pid}/ns/net`)));
  const executable = (await unless(CLOSED, () => readlink(files.path(`/proc/${pid}/exe`)))) ?? "";
  const isInOurNetwork = network === undefined ? undefined : network === ownNetwork;
  return { pid: Number(pid), args: text.replace(/\0$/, "").split("\0"), executable, isInOurNetwork };
}

/** Reads run together, because on a busy machine one read after the other mostly waits for a CPU. */
const READS_AT_ONCE = 64;

async function inBatches<T, R>(items: readonly T[], read: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += READS_AT_ONCE) {
    results.push(...(await Promise.all(items.slice(from, from + READS_AT_ONCE).map(read))));
  }
  return results;
}

/** The process of each socket, by the socket's inode number, among the processes that may be inspected. */
export async function readSocketOwners(
  files: KernelFiles,
  inodes: ReadonlySet<string>,
): Promise<ReadonlyMap<string, number>> {
  const owners = new Map<string, number>();
  for (const pid of await pidsOf(files)) {
    if (owners.size === inodes.size) break;
    const directory = files.path(`/proc/${pid}/fd`);
    const descriptors = (await unless(CLOSED, () => readdir(directory))) ?? [];
    const readTarget = (descriptor: string) => unless(CLOSED, () => readlink(`${directory}/${descriptor}`));
    for (const target of await inBatches(descriptors, readTarget)) {
      const inode = /^socket:\[(\d+)\]$/.exec(target ?? "")?.[1];
      if (inode !== undefined && inodes.has(inode)) owners.set(inode, Number(pid));
    }
  }
  return owners;
}

export async function parentOf(files: KernelFiles, pid: number): Promise<number | undefined> {
  const text = await unlessGone(() => readFile(files.path(`/proc/${pid}/stat`), "utf8"));
  // The process name, in parentheses, may contain anything.
  const parent = text?.replace(/^.*\) /s, "").split(" ")[1];
  return parent === undefined ? undefined : Number(parent);
}
