/**
 * The mount table over a fake disk. A mount shows a directory or file of some file system in place of the entry that it
 * covers. Only lookups through the parent mount see it: the same directory bound elsewhere does not show it. Some
 * mounts are dead: calls on them never return.
 */
import type { MountPoint } from "../src/ports/mounts.ts";
import type { DiskDirectory, DiskEntry, Located } from "./fake-disk.ts";

/** The free space of one file system. */
interface Room {
  freeBytes: number;
}

/** What can be mounted, independent of the mount point. */
export interface Mountable {
  readonly root: DiskEntry;
  readonly room: Room;
  readonly type: string;
  readonly source: string;
  readonly device: string;
  /** The path within its file system that the mount shows. */
  readonly rootPath: string;
  readonly superOptions: readonly string[];
}

export interface DiskMount extends Mountable {
  readonly path: string;
  readonly within: DiskMount | undefined;
  readonly covered: DiskEntry;
  /** The peer group of a shared mount; 0: private. */
  readonly peers: number;
  isReadOnly: boolean;
}

const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === "/" ? directory : `${directory}/`);

export class DiskMounts {
  readonly top: DiskMount;
  /** Calls on these paths and on paths below them never return. */
  readonly dead = new Set<string>();
  #all: readonly DiskMount[];
  readonly #covers = new Map<DiskEntry, readonly DiskMount[]>();
  #count = 0;

  constructor(root: DiskDirectory) {
    const room = { freeBytes: Number.POSITIVE_INFINITY };
    const seen = { root, room, type: "ext4", source: "/dev/vda", device: "254:0", rootPath: "/", superOptions: ["rw"] };
    this.top = { ...seen, path: "/", within: undefined, covered: root, peers: 0, isReadOnly: false };
    this.#all = [this.top];
  }

  /** Returns the visible entry at this place: the root of the topmost mount that covers it, or the entry itself. */
  over(place: Located): Located {
    const found = this.#covers.get(place.entry)?.findLast(({ within }) => within === place.mount);
    return found === undefined ? place : this.over({ entry: found.root, mount: found, path: place.path });
  }

  /** Returns a new device number, for tmpfs or another new file system. */
  newDevice(): string {
    this.#count += 1;
    return `0:${100 + this.#count}`;
  }

  attach(what: Mountable, { entry, mount, path }: Located, peers = mount.peers): DiskMount {
    const made: DiskMount = { ...what, path, within: mount, covered: entry, peers: 0, isReadOnly: false };
    // A mount on a shared mount is itself shared, in a new peer group.
    const shared = peers === 0 ? made : { ...made, peers: this.#nextPeers() };
    this.#all = [...this.#all, shared];
    this.#covers.set(entry, [...(this.#covers.get(entry) ?? []), shared]);
    return shared;
  }

  /** Detaches the mount and all mounts inside it. */
  detach(mount: DiskMount): void {
    for (const inner of this.inside(mount)) this.detach(inner);
    this.#all = this.#all.filter((each) => each !== mount);
    const left = this.#covers.get(mount.covered)?.filter((each) => each !== mount) ?? [];
    if (left.length > 0) this.#covers.set(mount.covered, left);
    else this.#covers.delete(mount.covered);
    if (this.at(mount.path).length === 0) this.dead.delete(mount.path);
  }

  clear(): void {
    this.#all = [this.top];
    this.#covers.clear();
    this.dead.clear();
  }

  /** A new array after each change. */
  get all(): readonly DiskMount[] {
    return this.#all;
  }

  at(path: string): readonly DiskMount[] {
    return this.#all.filter((mount) => mount.path === path);
  }

  inside(mount: DiskMount): readonly DiskMount[] {
    return this.#all.filter(({ within }) => within === mount);
  }

  /** The mounts at the path and below it. */
  within(path: string): readonly DiskMount[] {
    return this.#all.filter((mount) => isWithin(mount.path, path));
  }

  isDead(path: string): boolean {
    for (const dead of this.dead) if (isWithin(path, dead)) return true;
    return false;
  }

  table(): readonly MountPoint[] {
    return this.#all.map(({ path, rootPath, type, source, device, superOptions, isReadOnly, peers }) => ({
      path,
      root: rootPath,
      type,
      source,
      device,
      options: [isReadOnly ? "ro" : "rw", "relatime"],
      superOptions,
      propagation: peers === 0 ? [] : [`shared:${peers}`],
    }));
  }

  #nextPeers(): number {
    this.#count += 1;
    return this.#count;
  }
}
