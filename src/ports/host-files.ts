/**
 * The node's local files, by absolute path. Only for disks of our own: whatever may hang (a network mount) is behind the Mounts port.
 *
 * Every call rejects with a `HostFileError`. What `writeAtomically` and `appendAt` have written survives a crash of the machine from the
 * moment they resolve, with the folders above it; before that, `writeAtomically` leaves the old content or the new, never a part. The other
 * calls, and an `appendAt` that is not to be synced, are seen by every process at once but may be undone by a crash of the machine.
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

/** Nothing where there is no folder. */
export async function listIfThere(files: Pick<HostFiles, "list">, folder: string): Promise<readonly string[]> {
  try {
    return await files.list(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

export interface FileFacts {
  readonly kind: "file" | "folder" | "link" | "other";
  readonly sizeBytes: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Changes with every change of content, for as long as the clock moves. */
  readonly modifiedWallNs: bigint;
}

/** Of a file that is made now. Without an owner it belongs to this process, in the group that its folder gives. */
export interface NewFileFacts {
  /** Whatever the umask. */
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
}

export interface HostFiles {
  /** Does not follow a link at the end of the path. Undefined when there is nothing. */
  facts(path: string): Promise<FileFacts | undefined>;
  /** Names, sorted. Rejects "notFound" when there is no such folder. */
  list(path: string): Promise<readonly string[]>;
  /** Rejects "tooLarge" above `bytesMax`. Regular files only; a link at the end of the path is "notPermitted". */
  read(path: string, bytesMax: number): Promise<Uint8Array>;
  /** The first `bytesMax` bytes, or all of a shorter file. Regular files only, never through a link at the end of the path. */
  readHead(path: string, bytesMax: number): Promise<Uint8Array>;
  /** The last `bytesMax` bytes, or all of a shorter file. */
  readTail(path: string, bytesMax: number): Promise<Uint8Array>;
  /** Rejects "exists" where a folder is. */
  writeAtomically(path: string, content: Uint8Array, mode: number): Promise<void>;
  /**
   * Makes an existing file consist of its first `offsetBytes` bytes and then `content`, which may be empty. What an earlier try left beyond
   * the offset goes away. When it rejects, anything may lie beyond the offset, and what lies before it is untouched. What was appended unsynced
   * is synced by the next append that is.
   */
  appendAt(path: string, offsetBytes: number, content: Uint8Array, sync?: "synced" | "unsynced"): Promise<void>;
  /**
   * Makes the file, or fills the one that is there anew: it stays the same file, and whoever has it open or mounted sees the new content. A reader
   * may meet a part of it. Never through a link at the end of the path; rejects "exists" where a folder is.
   */
  overwrite(path: string, content: Uint8Array, mode: number): Promise<void>;
  /** With its parents. An existing folder keeps its mode. */
  makeFolder(path: string, mode: number): Promise<void>;
  /** An empty file that others write to. Rejects "exists". */
  makeFile(path: string, mode: number): Promise<void>;
  /** A file that was not there, with its content. Rejects "exists", also at a link. When it rejects otherwise, no part of the file is left. */
  writeNew(path: string, content: Uint8Array, facts: NewFileFacts): Promise<void>;
  /** Of what is at the path, a link not followed. It may take mode bits away (set-group of a file): the mode is set after it. */
  setOwner(path: string, uid: number, gid: number): Promise<void>;
  /** Rejects "notPermitted" at a link. */
  setMode(path: string, mode: number): Promise<void>;
  /** In one step, replacing what is there: a file or link, or an empty folder by a folder. On one file system. */
  rename(from: string, to: string): Promise<void>;
  /** Replaces a link that points elsewhere, in one step. Rejects "exists" when something else than a link is there. */
  link(target: string, path: string): Promise<void>;
  readLink(path: string): Promise<string>;
  /** Of a file or link; succeeds when there is none. */
  removeFile(path: string): Promise<void>;
  /** Of an empty folder; succeeds when there is none. */
  removeFolder(path: string): Promise<void>;
  /**
   * Of a folder and all below it, on its own file system only: rejects "notPermitted" at a mount point rather than crossing it. A link is
   * removed, never followed. Succeeds when there is none.
   */
  removeTree(path: string): Promise<void>;
  /**
   * Hints that the folder's entries changed, coalesced, the first one at once; the reader looks for itself. A folder that is not there is
   * waited for. Ends with the signal.
   */
  watch(path: string, signal: AbortSignal): AsyncIterable<void>;
}
