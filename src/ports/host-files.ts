/**
 * The node's local files, by absolute path. Only for disks of our own: whatever may hang (a network mount) is behind the Mounts port.
 *
 * Every call rejects with a `HostFileError`. What `writeAtomically` has written survives a crash at any moment: the old content or
 * the new, never a part.
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

export interface FileFacts {
  readonly kind: "file" | "folder" | "link" | "other";
  readonly sizeBytes: number;
  readonly mode: number;
  /** Changes with every change of content, for as long as the clock moves. */
  readonly modifiedWallNs: bigint;
}

export interface HostFiles {
  /** Does not follow a link at the end of the path. Undefined when there is nothing. */
  facts(path: string): Promise<FileFacts | undefined>;
  /** Names, sorted. Rejects "notFound" when there is no such folder. */
  list(path: string): Promise<readonly string[]>;
  /** Rejects "tooLarge" above `bytesMax`. Regular files only, never through a link at the end of the path. */
  read(path: string, bytesMax: number): Promise<Uint8Array>;
  /** The first `bytesMax` bytes, or all of a shorter file. Regular files only, never through a link at the end of the path. */
  readHead(path: string, bytesMax: number): Promise<Uint8Array>;
  /** The last `bytesMax` bytes, or all of a shorter file. */
  readTail(path: string, bytesMax: number): Promise<Uint8Array>;
  writeAtomically(path: string, content: Uint8Array, mode: number): Promise<void>;
  /** With its parents. An existing folder keeps its mode. */
  makeFolder(path: string, mode: number): Promise<void>;
  /** An empty file that others write to. Rejects "exists". */
  makeFile(path: string, mode: number): Promise<void>;
  /** Replaces a link that points elsewhere. */
  link(target: string, path: string): Promise<void>;
  readLink(path: string): Promise<string>;
  /** Of a file or link; succeeds when there is none. */
  removeFile(path: string): Promise<void>;
  /** Of an empty folder; succeeds when there is none. */
  removeFolder(path: string): Promise<void>;
  /** Of a folder and all below it, on its own file system only: rejects "notPermitted" at a mount point rather than crossing it. */
  removeTree(path: string): Promise<void>;
  /** Hints that something below the folder changed, coalesced; the reader looks for itself. Ends with the signal. */
  watch(path: string, signal: AbortSignal): AsyncIterable<void>;
}
