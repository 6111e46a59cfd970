/**
 * Container logs as files, by absolute path: the runtime writes them, and we read and compress them. HostFiles handles
 * their names. Links at the end of a path are never followed: a process that can write to a log directory could
 * otherwise expose any file of the node. Every call rejects with a `HostFileError`, or with the signal's reason when
 * the caller gives up.
 */

/** An open log. It remains the same file when it is renamed or removed. */
export interface LogFile extends AsyncDisposable {
  /** Identifies the file, not its name; unique while this file is open. */
  readonly identity: string;
  sizeBytes(): Promise<number>;
  /** Fills `into` from `offsetBytes` on. Fewer bytes mean that the file currently ends there. */
  read(into: Uint8Array, offsetBytes: number): Promise<number>;
}

/** A compressed log, read as its original content from the beginning. */
export interface CompressedLog extends AsyncDisposable {
  /** Returns the next bytes. Fewer than `into` holds are returned only at the end, and then none. */
  read(into: Uint8Array): Promise<number>;
}

export interface LogFiles {
  /** Undefined if nothing exists there. Regular files only. */
  open(path: string): Promise<LogFile | undefined>;
  openCompressed(path: string): Promise<CompressedLog | undefined>;
  /** The identity of the file that has this name now; undefined if there is none. Does not follow a link. */
  identityAt(path: string): Promise<string | undefined>;
  /**
   * Compresses `from` with gzip to `to`, with the same mode, and replaces an existing `to`. Once it resolves, `to`
   * survives a machine crash. After a rejection `to` does not exist or is incomplete, as after a crash of this process.
   */
  compress(from: string, to: string, signal: AbortSignal): Promise<void>;
}
