/**
 * Container logs as files, by absolute path: the runtime writes them, we read and compress them. Names are HostFiles' business. Nothing
 * is opened through a link at the end of its path: whoever may write to a folder of logs could lead us to any file of the node. Every call
 * rejects with a `HostFileError`, or with the signal's reason when the caller gave up.
 */

/** An open log. It stays the same file when it is renamed or removed. */
export interface LogFile extends AsyncDisposable {
  /** Of the file, not of its name; no other file has it as long as this one is open. */
  readonly identity: string;
  sizeBytes(): Promise<number>;
  /** Fills `into` from that offset on; fewer bytes mean that the file ends there, for now. */
  read(into: Uint8Array, offsetBytes: number): Promise<number>;
}

/** A compressed log as what it was before, from its beginning on. */
export interface CompressedLog extends AsyncDisposable {
  /** The next bytes; fewer than `into` has room for only at the end, and then none. */
  read(into: Uint8Array): Promise<number>;
}

export interface LogFiles {
  /** Undefined where there is nothing. Regular files only. */
  open(path: string): Promise<LogFile | undefined>;
  openCompressed(path: string): Promise<CompressedLog | undefined>;
  /** Of what has this name now; undefined where there is nothing. A link is not followed. */
  identityAt(path: string): Promise<string | undefined>;
  /**
   * Makes `to` a gzip of `from`, with its mode, in place of whatever is there. Once it resolves, `to` survives a crash of the machine. When it
   * rejects, there is no `to`, or what a crash of ours would leave: a part of it.
   */
  compress(from: string, to: string, signal: AbortSignal): Promise<void>;
}
