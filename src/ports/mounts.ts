/**
 * Mounts, and work on files that may lie on a file system of someone else's: a network mount, a FUSE server that has died. Nothing here can hold up
 * the process: a call that gets no answer within its deadline rejects "unresponsive", costs nobody else a turn, and leaves open whether it took
 * effect.
 *
 * Every call rejects with a `MountError`, or with the signal's reason. Paths are absolute. Nothing here follows a symbolic link out of the folder it
 * was given, and nothing removes across a mount point.
 *
 * A call whose answer was lost may be made again: what is mounted as asked is left as it is, and nothing is mounted twice over itself. Where
 * something else is mounted at the target, a mount rejects "busy".
 */
export type MountErrorCode =
  | "notFound"
  | "exists"
  | "busy"
  | "notPermitted"
  | "readOnly"
  | "noSpace"
  /** A component of a path is a link, leads out of the volume, or changed while it was looked at. */
  | "unsafePath"
  | "unresponsive"
  | "other";

export class MountError extends Error {
  override readonly name = "MountError";
  readonly code: MountErrorCode;
  /** Without operation and path. Of a mount or unmount that failed: what the Go kubelet would say. */
  readonly detail: string;
  constructor(operation: string, path: string, code: MountErrorCode, detail: string, options?: ErrorOptions) {
    super(`${operation} ${path}: ${detail}`, options);
    this.code = code;
    this.detail = detail;
  }
}

export interface MountPoint {
  readonly path: string;
  /** What of its file system is seen here. Ends in "//deleted" when that is gone. */
  readonly root: string;
  readonly type: string;
  readonly source: string;
  readonly device: string;
  readonly options: readonly string[];
  readonly superOptions: readonly string[];
  /** "shared:1", "master:2"; empty: private. */
  readonly propagation: readonly string[];
}

export type PathKind = "absent" | "file" | "folder" | "socket" | "charDevice" | "blockDevice" | "other";

export interface MemoryMount {
  readonly sizeBytes: bigint | undefined;
  /** Never swapped out. Rejects "other" where the kernel does not know it. */
  readonly noSwap: boolean;
}

export interface SubPathBind {
  /** Where the volume is on this node. */
  readonly volume: string;
  /** Relative; may name what is not there: folders are made, with the mode of the volume. */
  readonly subPath: string;
  readonly target: string;
}

export interface OwnershipPass {
  readonly group: number;
  readonly readOnly: boolean;
  /** Nothing is done where the volume's root has the group and the mode already. */
  readonly onlyIfRootDiffers: boolean;
  /** Told now and then how many files were done. */
  readonly onProgress: (files: number) => void;
}

/** A file system may refuse a change of owner or mode (a network one for root, say). That fails nothing, as with the Go kubelet, but is told. */
export interface OwnershipOutcome {
  /** How many files were looked at. 0: nothing was to be done. */
  readonly files: number;
  /** Of how many of them a change was refused. */
  readonly refused: number;
  readonly firstRefusal: string | undefined;
}

export interface BlockFormat {
  /** Undefined: nothing that is known. */
  readonly type: string | undefined;
  /** It holds partitions. */
  readonly partitioned: boolean;
}

/** How full the file system is that a path lies on. */
export interface Room {
  readonly capacityBytes: number;
  readonly freeBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/** What a folder and all below it take, on the same file system; a file with several names counts once. */
export interface Taken {
  readonly bytes: number;
  readonly inodes: number;
}

export interface Measured {
  readonly room: Room;
  /** Of "walk" only. */
  readonly taken: Taken | undefined;
}

export type CheckOutcome = "clean" | "repaired" | "uncorrected" | "unavailable";

export interface Mounts {
  /** Of the kernel's own table, in the order it lists them: no file system is asked. */
  table(): Promise<readonly MountPoint[]>;
  /** Mounts below `path` are shared with other mount namespaces: where it does not lie on a shared mount, it becomes one of its own. */
  share(path: string, signal: AbortSignal): Promise<void>;
  /** Whether memory that is mounted can be kept from being swapped out. */
  knowsNoSwap(): Promise<boolean>;
  /** A tmpfs. The folder must be there. */
  mountMemory(path: string, mount: MemoryMount, signal: AbortSignal): Promise<void>;
  mountHugepages(path: string, pageSize: string | undefined, signal: AbortSignal): Promise<void>;
  /** `source` at `target`, which is made with its parents where it is missing: a folder for a folder, a file for anything else. */
  bind(source: string, target: string, options: readonly string[], signal: AbortSignal): Promise<void>;
  /**
   * What `subPath` names inside the volume, found without following a link out of it, at `target`, which is made as it must be. Links that
   * stay inside are followed: the files of a ConfigMap are links. Something else that was mounted at the target is unmounted.
   */
  bindSubPath(bind: SubPathBind, signal: AbortSignal): Promise<void>;
  /**
   * The content of a file in a volume whose users may change any name in it at any moment. No link is followed: it rejects "unsafePath" where
   * a part of the path is one. It rejects "other" for what is no regular file or longer than `bytesMax`.
   */
  readBelow(volume: string, path: string, bytesMax: number, signal: AbortSignal): Promise<Uint8Array>;
  /** Everything that is mounted at `path` itself. Succeeds when nothing is. `lazy` lets go of it at once, whoever uses it. */
  unmount(path: string, how: { readonly lazy: boolean }, signal: AbortSignal): Promise<void>;
  /** Follows links. */
  kindOf(path: string, signal: AbortSignal): Promise<PathKind>;
  /** The group that owns what is there. Follows links. */
  groupOf(path: string, signal: AbortSignal): Promise<number>;
  /** With its parents. An existing folder keeps its mode. Past the umask. */
  makeFolder(path: string, mode: number, signal: AbortSignal): Promise<void>;
  /** An empty file, its parents not. An existing one stays as it is. */
  makeFile(path: string, mode: number, signal: AbortSignal): Promise<void>;
  /** Hands a volume to a group, as `fsGroup` asks: everything in it, its root last. What is mounted inside it is another volume, and stays as it is. */
  own(path: string, pass: OwnershipPass, signal: AbortSignal): Promise<OwnershipOutcome>;
  /** Asks the file system; "walk" also looks at every file. What is mounted inside is not gone into. */
  measure(path: string, how: "walk" | "filesystem", signal: AbortSignal): Promise<Measured>;
  /** A folder and all below it. Rejects "busy" when a mount point lies below it, before anything is removed. Succeeds when there is none. */
  removeTree(path: string, signal: AbortSignal): Promise<void>;
  /** What a block device holds, by looking at it. */
  formatOf(device: string, signal: AbortSignal): Promise<BlockFormat>;
  /** Checks the file system on a device, and repairs what can be repaired without asking. */
  check(device: string, signal: AbortSignal): Promise<CheckOutcome>;
  /** Makes a file system on a device. The caller knows that it holds nothing. */
  format(device: string, type: string, signal: AbortSignal): Promise<void>;
  /** Also of what is no block device: "server:/path" of a network file system. The folder must be there. */
  mountDevice(
    device: string,
    target: string,
    type: string,
    options: readonly string[],
    signal: AbortSignal,
  ): Promise<void>;
}
