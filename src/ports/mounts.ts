/**
 * Mounts, and work on files whose file system may not respond: a network mount, or a FUSE server that has died. Nothing
 * here can block the process. A call without an answer within its deadline rejects "unresponsive", delays no other
 * caller, and may or may not have taken effect.
 *
 * Every call rejects with a `MountError`, or with the signal's reason. Paths are absolute. No call follows a symbolic
 * link out of the directory it was given, and none removes across a mount point.
 *
 * A call whose answer was lost may be repeated: a matching mount is left as it is, and nothing is mounted twice over
 * itself. If something else is mounted at the target, a mount rejects "busy".
 */
import type { PathKind } from "../domain/volumes/host-path.ts";

export type MountErrorCode =
  | "notFound"
  | "exists"
  | "busy"
  | "notPermitted"
  | "readOnly"
  | "noSpace"
  /** A path component is a link, leads out of the volume, or changed during the inspection. */
  | "unsafePath"
  | "unresponsive"
  | "other";

export class MountError extends Error {
  override readonly name = "MountError";
  readonly code: MountErrorCode;
  /** Without operation and path. For a failed mount or unmount, the Go kubelet's message. */
  readonly detail: string;
  constructor(operation: string, path: string, code: MountErrorCode, detail: string, options?: ErrorOptions) {
    super(`${operation} ${path}: ${detail}`, options);
    this.code = code;
    this.detail = detail;
  }
}

export interface MountPoint {
  readonly path: string;
  /** The part of the file system that is visible here. Ends in "//deleted" if it was deleted. */
  readonly root: string;
  readonly type: string;
  readonly source: string;
  readonly device: string;
  readonly options: readonly string[];
  readonly superOptions: readonly string[];
  /** "shared:1", "master:2"; empty means private. */
  readonly propagation: readonly string[];
}

export interface MemoryMount {
  readonly sizeBytes: bigint | undefined;
  /** Never swapped out. Rejects "other" if the kernel does not support it. */
  readonly noSwap: boolean;
}

export interface SubPathBind {
  /** The volume's path on this node. */
  readonly volume: string;
  /** A relative path. Missing directories are created with the volume's mode. */
  readonly subPath: string;
  readonly target: string;
}

export interface FsGroupChange {
  readonly group: number;
  readonly readOnly: boolean;
  /** Does nothing if the volume's root already has the group and the mode. */
  readonly onlyIfRootDiffers: boolean;
  /** Called from time to time with the number of processed files. */
  readonly onProgress: (files: number) => void;
}

/**
 * A file system may refuse a change of owner or mode, for example a network file system for root. As in the Go kubelet,
 * that is no failure, but it is reported.
 */
export interface FsGroupOutcome {
  /** Number of files inspected. 0: nothing needed to be done. */
  readonly files: number;
  /** For how many files a change was refused. */
  readonly refused: number;
  readonly firstRefusal: string | undefined;
}

export interface BlockFormat {
  /** Undefined: no known format. */
  readonly type: string | undefined;
  /** The device contains partitions. */
  readonly partitioned: boolean;
}

/** Statistics of the file system that contains a path. */
export interface FilesystemStats {
  readonly capacityBytes: number;
  readonly freeBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/** Disk usage of a directory and everything below it on the same file system. A file with several names counts once. */
export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}

export interface VolumeUsage {
  readonly filesystem: FilesystemStats;
  /** Only with "walk". */
  readonly usage: DiskUsage | undefined;
}

export type CheckOutcome = "clean" | "repaired" | "uncorrected" | "unavailable";

export interface Mounts {
  /** The kernel's mount table, in its order. No file system is queried. */
  table(): Promise<readonly MountPoint[]>;
  /**
   * Shares mounts below `path` with other mount namespaces. If `path` is not on a shared mount, it becomes a shared
   * mount itself.
   */
  share(path: string, signal: AbortSignal): Promise<void>;
  /** Whether the kernel supports tmpfs mounts that are never swapped out. */
  supportsNoswap(): Promise<boolean>;
  /** Mounts a tmpfs. The directory must exist. */
  mountMemory(path: string, mount: MemoryMount, signal: AbortSignal): Promise<void>;
  mountHugepages(path: string, pageSize: string | undefined, signal: AbortSignal): Promise<void>;
  /**
   * Bind-mounts `source` to `target`. A missing target is created with its parents: a directory for a directory, else a
   * file.
   */
  bind(source: string, target: string, options: readonly string[], signal: AbortSignal): Promise<void>;
  /**
   * Mounts the subPath of a volume to `target`, which is created as needed. No link is followed out of the volume.
   * Links that stay inside are followed, because a ConfigMap's files are links. Another mount at the target is
   * unmounted.
   */
  bindSubPath(bind: SubPathBind, signal: AbortSignal): Promise<void>;
  /**
   * Reads a file of a volume whose users may change any name in it at any moment. Follows no link: rejects "unsafePath"
   * if a path component is one. Rejects "other" for anything but a regular file of at most `bytesMax`.
   */
  readBeneath(volume: string, path: string, bytesMax: number, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Unmounts everything mounted at `path` itself. Succeeds if nothing is. `lazy` detaches it at once, even if it is in
   * use.
   */
  unmount(path: string, how: { readonly lazy: boolean }, signal: AbortSignal): Promise<void>;
  /** Follows links. */
  kindOf(path: string, signal: AbortSignal): Promise<PathKind>;
  /** The group that owns the path. Follows links. */
  groupOf(path: string, signal: AbortSignal): Promise<number>;
  /** Creates parents, too. An existing directory keeps its mode. Ignores the umask. */
  makeDirectory(path: string, mode: number, signal: AbortSignal): Promise<void>;
  /** Creates an empty file, but not its parents. An existing file remains as it is. */
  makeFile(path: string, mode: number, signal: AbortSignal): Promise<void>;
  /**
   * Gives a volume to a group, as `fsGroup` requires: all its content, then its root. Mounts inside it are other
   * volumes and remain as they are.
   */
  applyFsGroup(path: string, change: FsGroupChange, signal: AbortSignal): Promise<FsGroupOutcome>;
  /** Queries the file system; "walk" also inspects every file. Mounts inside `path` are not entered. */
  measure(path: string, how: "walk" | "filesystem", signal: AbortSignal): Promise<VolumeUsage>;
  /**
   * Removes a directory and everything below it. Rejects "busy" before removing anything if there is a mount point
   * below it. Succeeds if it does not exist.
   */
  removeTree(path: string, signal: AbortSignal): Promise<void>;
  /** Detects the format of a block device by reading it. */
  formatOf(device: string, signal: AbortSignal): Promise<BlockFormat>;
  /** Checks the file system on a device and repairs everything that can be repaired automatically. */
  check(device: string, signal: AbortSignal): Promise<CheckOutcome>;
  /** Creates a file system on a device. The caller has checked that the device is empty. */
  format(device: string, type: string, signal: AbortSignal): Promise<void>;
  /** Mounts a block device, or a network file system ("server:/path"). The directory must exist. */
  mountDevice(
    device: string,
    target: string,
    type: string,
    options: readonly string[],
    signal: AbortSignal,
  ): Promise<void>;
}
