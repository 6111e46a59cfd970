/**
 * The node's local files, by absolute path. For local disks only: a file system that may hang (a network mount) belongs
 * to the Mounts port.
 *
 * Every call rejects with a `HostFileError`. Once `writeAtomically` or `appendAt` resolves, its content and the
 * directories above it survive a machine crash. Before that, `writeAtomically` leaves the old or the new content, never
 * a part. All other calls, and an unsynced `appendAt`, are visible to every process at once, but a machine crash may
 * undo them.
 */
export type HostFileErrorCode =
  | "notFound"
  | "exists"
  | "notEmpty"
  | "notPermitted"
  | "noSpace"
  | "readOnly"
  | "tooLarge"
  | "other";

export class HostFileError extends Error {
  override readonly name = "HostFileError";
  readonly code: HostFileErrorCode;
  constructor(operation: string, path: string, code: HostFileErrorCode, detail: string, options?: ErrorOptions) {
    super(`${operation} ${path}: ${detail}`, options);
    this.code = code;
  }
}

export const isMissing = (error: unknown) => error instanceof HostFileError && error.code === "notFound";
export const isTooLarge = (error: unknown) => error instanceof HostFileError && error.code === "tooLarge";

/** Empty if the directory does not exist. */
export async function listIfThere(files: Pick<HostFiles, "list">, directory: string): Promise<readonly string[]> {
  try {
    return await files.list(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

export interface FileFacts {
  readonly kind: "file" | "directory" | "link" | "other";
  readonly sizeBytes: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Changes with every change of content, as long as the clock advances. */
  readonly modifiedWallNs: bigint;
}

/** For a new file. Without an owner it belongs to this process, and its group follows from its directory. */
export interface NewFileFacts {
  /** Applied regardless of the umask. */
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
}

export interface DirectoryHint {
  /**
   * Names of entries that were removed, or moved away, and exist again, since the previous hint. An atomically replaced
   * entry is not among them. The system may lose such an event.
   */
  readonly recreated: ReadonlySet<string>;
}

export interface HostFiles {
  /** Does not follow a link at the end of the path. Undefined if nothing exists there. */
  facts(path: string): Promise<FileFacts | undefined>;
  /** Sorted names. Rejects "notFound" if the directory does not exist. */
  list(path: string): Promise<readonly string[]>;
  /** Rejects "tooLarge" above `bytesMax`. Reads regular files only; a link at the end of the path is "notPermitted". */
  read(path: string, bytesMax: number): Promise<Uint8Array>;
  /**
   * The first `bytesMax` bytes, or all of a shorter file. Regular files only; never follows a link at the end of the
   * path.
   */
  readHead(path: string, bytesMax: number): Promise<Uint8Array>;
  /** The last `bytesMax` bytes, or all of a shorter file. */
  readTail(path: string, bytesMax: number): Promise<Uint8Array>;
  /** Rejects "exists" if the path is a directory. */
  writeAtomically(path: string, content: Uint8Array, mode: number): Promise<void>;
  /**
   * Truncates an existing file to `offsetBytes` and appends `content`, which may be empty. So remains of an earlier
   * attempt beyond the offset are removed. After a rejection anything may lie beyond the offset, but the bytes before
   * it are unchanged. The next synced append also syncs earlier unsynced ones.
   */
  appendAt(path: string, offsetBytes: number, content: Uint8Array, sync?: "synced" | "unsynced"): Promise<void>;
  /**
   * Creates the file or replaces its content in place: it remains the same file, so open descriptors and bind mounts
   * see the new content. Readers may see a part of it. Never follows a link at the end of the path; rejects "exists" if
   * the path is a directory.
   */
  overwrite(path: string, content: Uint8Array, mode: number): Promise<void>;
  /** Creates parents, too. An existing directory keeps its mode. */
  makeDirectory(path: string, mode: number): Promise<void>;
  /** Creates an empty file for others to write to. Rejects "exists". */
  makeFile(path: string, mode: number): Promise<void>;
  /**
   * Creates a file with content. Rejects "exists", also if the path is a link. After any other rejection no part of the
   * file remains.
   */
  writeNew(path: string, content: Uint8Array, facts: NewFileFacts): Promise<void>;
  /** Does not follow a link. It may clear mode bits (setgid of a file), so set the mode afterwards. */
  setOwner(path: string, uid: number, gid: number): Promise<void>;
  /** Rejects "notPermitted" if the path is a link. */
  setMode(path: string, mode: number): Promise<void>;
  /** Atomic. Replaces a file or link, or an empty directory with a directory. Both paths must be on one file system. */
  rename(from: string, to: string): Promise<void>;
  /**
   * Creates a symbolic link, or atomically replaces one that points elsewhere. Rejects "exists" if anything but a link
   * exists there.
   */
  link(target: string, path: string): Promise<void>;
  readLink(path: string): Promise<string>;
  /** Removes a file or link; succeeds if it does not exist. */
  removeFile(path: string): Promise<void>;
  /** Removes an empty directory; succeeds if it does not exist. */
  removeDirectory(path: string): Promise<void>;
  /**
   * Removes a directory and everything below it on the same file system. Rejects "notPermitted" at a mount point
   * instead of crossing it. Removes links without following them. Succeeds if it does not exist.
   */
  removeTree(path: string): Promise<void>;
  /**
   * Hints that the directory's entries changed, coalesced; the first hint comes at once. Readers inspect the directory
   * themselves. Waits for a directory that does not exist yet. Ends when the signal aborts.
   */
  watch(path: string, signal: AbortSignal): AsyncIterable<DirectoryHint>;
}
