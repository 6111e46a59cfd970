/**
 * Places in the file system held by descriptor. Node has no openat: an entry is named through /proc/self/fd, which leads to the very folder
 * that is held, whatever has become of its name.
 */
import { type BigIntStats, closeSync, constants, fstatSync, opendirSync, openSync, readFileSync } from "node:fs";
import { errnoOf } from "../../host/errno.ts";

/** Node has no name for it: a handle on the place, which opens nothing, asks no server and wakes no device. */
const O_PATH = 0o10000000;

export class Place implements Disposable {
  readonly fd: number;

  private constructor(fd: number) {
    this.fd = fd;
  }

  /** What the path itself names: a link is held, not followed. */
  static at(path: string | Buffer): Place {
    return new Place(openSync(path, O_PATH | constants.O_NOFOLLOW));
  }

  /** Through links: only for paths that no container can alter. */
  static folder(path: string): Place {
    return new Place(openSync(path, O_PATH | constants.O_DIRECTORY));
  }

  /** For calls that follow a link: they arrive here, and not at what a link that is held points to. */
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

  /** Which mount it lies on: a bind mount of the same file system has the same device number, but not the same id. */
  mountId(): string {
    return /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${this.fd}`, "latin1"))?.[1] ?? "";
  }

  [Symbol.dispose](): void {
    closeSync(this.fd);
  }
}

export const isSameFile = (one: BigIntStats, other: BigIntStats): boolean =>
  one.dev === other.dev && one.ino === other.ino;

/** Of folders in a volume. A walk holds two descriptors for each level; a path of names of one letter is not longer than this. */
export const DEPTH_MAX = 2048;

/** The entries of a folder, each held until the next is asked for. One that is gone when its turn comes is left out. */
export function* entriesOf(place: Place): Iterable<Place> {
  // Names are bytes, which this encoding keeps.
  const folder = opendirSync(place.path, { encoding: "latin1" });
  try {
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      const name = Buffer.from(entry.name, "latin1");
      using held = unlessGone(() => Place.at(place.entry(name)));
      if (held !== undefined) yield held;
    }
  } finally {
    folder.closeSync();
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
