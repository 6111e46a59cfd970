/**
 * What is mounted over a fake disk. A mount shows a folder or file of some file system in the place of one that it covers, for whoever comes by
 * the mount that this one is in: the same folder bound elsewhere does not show it. Some mounts are dead: whoever asks them waits for ever.
 */
import type { MountPoint } from "../src/ports/mounts.ts";
import type { DiskEntry, DiskFolder, Located } from "./fake-disk.ts";

/** The space of one file system. */
interface Room {
  freeBytes: number;
}

/** What is mounted, wherever. */
export interface Mountable {
  readonly root: DiskEntry;
  readonly room: Room;
  readonly type: string;
  readonly source: string;
  readonly device: string;
  /** Of its file system, what is seen. */
  readonly rootPath: string;
  readonly superOptions: readonly string[];
}

export interface DiskMount extends Mountable {
  readonly path: string;
  readonly within: DiskMount | undefined;
  readonly covered: DiskEntry;
  /** A group of mounts that are shared; 0: private. */
  readonly peers: number;
  isReadOnly: boolean;
}

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === "/" ? folder : `${folder}/`);

export class DiskMounts {
  readonly top: DiskMount;
  /** Whatever is asked of what is at or below these paths never answers. */
  readonly dead = new Set<string>();
  #all: readonly DiskMount[];
  readonly #covers = new Map<DiskEntry, readonly DiskMount[]>();
  #count = 0;

  constructor(root: DiskFolder) {
    const room = { freeBytes: Number.POSITIVE_INFINITY };
    const seen = { root, room, type: "ext4", source: "/dev/vda", device: "254:0", rootPath: "/", superOptions: ["rw"] };
    this.top = { ...seen, path: "/", within: undefined, covered: root, peers: 0, isReadOnly: false };
    this.#all = [this.top];
  }

  /** What is seen where an entry lies. */
  over(place: Located): Located {
    const found = this.#covers.get(place.entry)?.findLast(({ within }) => within === place.mount);
    return found === undefined ? place : this.over({ entry: found.root, mount: found, path: place.path });
  }

  /** Memory, or another file system that is new: with a device number of its own. */
  newDevice(): string {
    this.#count += 1;
    return `0:${100 + this.#count}`;
  }

  attach(what: Mountable, { entry, mount, path }: Located, peers = mount.peers): DiskMount {
    const made: DiskMount = { ...what, path, within: mount, covered: entry, peers: 0, isReadOnly: false };
    // What is mounted on a shared mount is shared itself, with a group of its own.
    const shared = peers === 0 ? made : { ...made, peers: this.#nextPeers() };
    this.#all = [...this.#all, shared];
    this.#covers.set(entry, [...(this.#covers.get(entry) ?? []), shared]);
    return shared;
  }

  /** With all that is mounted in it. */
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

  /** Another list after each change. */
  get all(): readonly DiskMount[] {
    return this.#all;
  }

  at(path: string): readonly DiskMount[] {
    return this.#all.filter((mount) => mount.path === path);
  }

  inside(mount: DiskMount): readonly DiskMount[] {
    return this.#all.filter(({ within }) => within === mount);
  }

  /** At the path and below it. */
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
