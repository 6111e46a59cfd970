/**
 * Entries of a file system, held by descriptor. Node has no openat: an entry is addressed through /proc/self/fd, which
 * leads to exactly the directory that is held, even if it was renamed or removed.
 */
import { type BigIntStats, closeSync, constants, fstatSync, opendirSync, openSync, readFileSync } from "node:fs";
import { errnoOf } from "../../host/errno.ts";

/** Node has no constant for it: a handle on a path that opens no file, contacts no server and wakes no device. */
const O_PATH = 0o10000000;

export class Place implements Disposable {
  readonly fd: number;

  private constructor(fd: number) {
    this.fd = fd;
  }

  /** The entry that the path itself names: a symbolic link is held, not followed. */
  static at(path: string | Buffer): Place {
    return new Place(openSync(path, O_PATH | constants.O_NOFOLLOW));
  }

  /** Follows symbolic links: only for paths that no container can change. */
  static directory(path: string): Place {
    return new Place(openSync(path, O_PATH | constants.O_DIRECTORY));
  }

  /** For calls that follow links: they reach this entry, not the target of a link that is held. */
  get path(): string {
    return `/proc/self/fd/${this.fd}`;
  }

  entry(name: string): string;
  entry(name: Buffer): Buffer;
  entry(name: string | Buffer): string | Buffer {
    return typeof name === "string" ? `${this.path}/${name}` : Buffer.concat([Buffer.from(`${this.path}/`), name]);
  }

  stat(): BigIntStats {
    return fstatSync(this.fd, { bigint: true });
  }

  /**
   * The mount on which the entry lies: a bind mount of the same file system has the same device number, but another
   * mount ID.
   */
  mountId(): string {
    return /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${this.fd}`, "latin1"))?.[1] ?? "";
  }

  [Symbol.dispose](): void {
    closeSync(this.fd);
  }
}

export const isSameFile = (one: BigIntStats, other: BigIntStats): boolean =>
  one.dev === other.dev && one.ino === other.ino;

/**
 * Maximum depth of directories in a volume. A walk holds two descriptors per level; a path of one-letter names is not
 * longer.
 */
export const DEPTH_MAX = 2048;

/**
 * The entries of a directory, each held until the next one is requested. An entry that is gone by its turn is left out.
 */
export function* entriesOf(place: Place): Iterable<Place> {
  // Names are bytes, which this encoding keeps.
  const directory = opendirSync(place.path, { encoding: "latin1" });
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      const name = Buffer.from(entry.name, "latin1");
      using held = unlessGone(() => Place.at(place.entry(name)));
      if (held !== undefined) yield held;
    }
  } finally {
    directory.closeSync();
  }
}

function unlessGone(open: () => Place): Place | undefined {
  try {
    return open();
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
