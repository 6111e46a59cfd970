/**
 * The kernel's table of file locks, `/proc/locks`. Lines of one who holds a lock and of one who waits for it:
 * `1: FLOCK  ADVISORY  WRITE 708 08:01:1234 0 EOF` and `1: -> FLOCK  ADVISORY  WRITE 709 08:01:1234 0 EOF`.
 */
export const KERNEL_LOCKS = "/proc/locks";

export interface FileLock {
  readonly waits: boolean;
  readonly pid: number;
  /** Device and inode: a number of an inode says nothing without its device. */
  readonly place: string;
}

/** Those that `flock` takes. */
export function fileLocks(table: string): readonly FileLock[] {
  return table.split("\n").flatMap((line) => {
    const [, ...words] = line.trim().split(/\s+/);
    const waits = words[0] === "->";
    const [kind, , , pid, place] = waits ? words.slice(1) : words;
    return kind === "FLOCK" && place !== undefined ? [{ waits, pid: Number(pid), place }] : [];
  });
}
