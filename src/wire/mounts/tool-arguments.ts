/**
 * The command lines of the tools that mount, format and check, as data. They are the Go kubelet's, so that failures
 * read the same; a comment explains each difference. Nothing here passes through a shell.
 */
import type { MemoryMount, MountPoint } from "../../ports/mounts.ts";

export interface ToolCall {
  readonly command: string;
  readonly args: readonly string[];
}

interface MountLine {
  readonly flags?: readonly string[];
  readonly type?: string;
  readonly options: readonly string[];
  readonly source: string;
  readonly target: string;
}

function mountCall({ flags = [], type, options, source, target }: MountLine): ToolCall {
  const typed = type === undefined || type === "" ? [] : ["-t", type];
  const opted = options.length === 0 ? [] : ["-o", options.join(",")];
  // The author of a pod chooses the server of an NFS volume: it must not be parsed as an option.
  const guarded = source.startsWith("-") ? ["--", source] : [source];
  return { command: "mount", args: [...flags, ...typed, ...opted, ...guarded, target] };
}

export function memoryMountCall(target: string, { sizeBytes, noSwap }: MemoryMount): ToolCall {
  const options = [
    ...(sizeBytes !== undefined && sizeBytes > 0n ? [`size=${sizeBytes}`] : []),
    ...(noSwap ? ["noswap"] : []),
  ];
  return mountCall({ type: "tmpfs", options, source: "tmpfs", target });
}

/** The kernel rejects an invalid size, and uses its default without one. */
export const hugepagesMountCall = (target: string, pageSize: string | undefined): ToolCall =>
  mountCall({
    type: "hugetlbfs",
    options: pageSize === undefined ? [] : [`pagesize=${pageSize}`],
    source: "nodev",
    target,
  });

export const deviceMountCall = (source: string, target: string, type: string, options: readonly string[]): ToolCall =>
  mountCall({ type, options, source, target });

/** A mount may start a server (FUSE): in a systemd scope that server outlives a restart of the agent's service. */
export const inScope = ({ command, args }: ToolCall, target: string): ToolCall => ({
  command: "systemd-run",
  args: [`--description=Kubernetes transient mount for ${target}`, "--scope", "--", command, ...args],
});

export const scopeProbeCall: ToolCall = {
  command: "systemd-run",
  args: ["--description=Kubernetes systemd probe", "--scope", "true"],
};

/** `_netdev` is known to mount(8) only, and a bind mount does not inherit it. */
export const bindCall = (source: string, target: string, options: readonly string[]): ToolCall =>
  mountCall({ options: ["bind", ...options.filter((option) => option === "_netdev")], source, target });

/**
 * Binds a descriptor that the tool inherits, without resolving names: they may have changed since they were checked.
 */
export const bindDescriptorCall = (descriptor: number, target: string): ToolCall =>
  mountCall({
    flags: ["--no-canonicalize"],
    options: ["bind"],
    source: `/proc/self/fd/${descriptor}`,
    target,
  });

const INHERITED = new Set(["ro", "nodev", "noexec", "nosuid", "noatime", "relatime", "nodiratime"]);

/**
 * A bind mount ignores options, so a second step sets them. That step must name what the first one inherited, or it
 * would clear it. Undefined if there is nothing to set: the Go kubelet always takes the second step.
 */
export function remountBindCall(
  source: string,
  target: string,
  options: readonly string[],
  bound: MountPoint | undefined,
): ToolCall | undefined {
  const asked = options.filter((option) => option !== "bind" && option !== "remount" && option !== "_netdev");
  if (asked.length === 0) return undefined;
  const inherited = (bound?.options ?? []).filter((option) => INHERITED.has(option) && !asked.includes(option));
  return mountCall({ options: ["bind", "remount", ...asked, ...inherited], source, target });
}

export const bindToItselfCall = (path: string): ToolCall => ({ command: "mount", args: ["--bind", path, path] });
export const makeSharedCall = (path: string): ToolCall => ({ command: "mount", args: ["--make-rshared", path] });

/** Resolving the path first would hang if the server is dead. */
export const unmountCall = (path: string, lazy: boolean): ToolCall => ({
  command: "umount",
  args: ["--no-canonicalize", ...(lazy ? ["--lazy"] : []), path],
});

export const probeCall = (device: string): ToolCall => ({
  command: "blkid",
  args: ["-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", device],
});

export const checkCall = (device: string): ToolCall => ({ command: "fsck", args: ["-a", device] });

/** Undefined if `type` is no name of a type: it becomes part of a program's name. */
export function formatCall(device: string, type: string): ToolCall | undefined {
  if (!/^[a-z0-9][a-z0-9_.-]*$/i.test(type)) return undefined;
  return { command: `mkfs.${type}`, args: [...(FORMAT_FLAGS.get(type) ?? []), device] };
}

/** Force: a whole disk is no partition, and may hold data that is no file system. Reserve no blocks for root. */
const FORMAT_FLAGS: ReadonlyMap<string, readonly string[]> = new Map([
  ["ext3", ["-F", "-m0"]],
  ["ext4", ["-F", "-m0"]],
  ["xfs", ["-f"]],
]);
