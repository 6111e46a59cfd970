/**
 * The kernel's table of file locks, `/proc/locks`. The lines of a process that holds a lock and of one that waits for
 * it: `1: FLOCK  ADVISORY  WRITE 708 08:01:1234 0 EOF` and `1: -> FLOCK  ADVISORY  WRITE 709 08:01:1234 0 EOF`.
 */
export const KERNEL_LOCKS = "/proc/locks";

export interface FileLock {
  readonly waits: boolean;
  readonly pid: number;
  /** Device and inode: an inode number means nothing without its device. */
  readonly place: string;
}

/** Locks taken with `flock`. */
export function fileLocks(table: string): readonly FileLock[] {
  return table.split("\n").flatMap((line) => {
    const [, ...words] = line.trim().split(/\s+/);
    const waits = words[0] === "->";
    const [kind, , , pid, place] = waits ? words.slice(1) : words;
    return kind === "FLOCK" && place !== undefined ? [{ waits, pid: Number(pid), place }] : [];
  });
}
