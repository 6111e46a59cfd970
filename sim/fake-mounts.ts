/**
 * The Mounts port over the fake disk. It passes the contract of the kernel's mounts. Mounts outlive an agent. After a
 * machine restart nothing is mounted, and file systems in memory have lost their files.
 *
 * A scenario makes it misbehave: `dead` paths never answer, `busy` ones cannot be unmounted, and `applyFsGroupMs`
 * delays ownership passes.
 */
import { sleep } from "../src/concurrency/sleep.ts";
import { groupMode, rootIsOwned } from "../src/domain/volumes/fs-group.ts";
import type { PathKind } from "../src/domain/volumes/host-path.ts";
import type { Clock } from "../src/ports/clock.ts";
import { HostFileError, type HostFileErrorCode } from "../src/ports/host-files.ts";
import {
  type BlockFormat,
  type CheckOutcome,
  type DiskUsage,
  type FsGroupChange,
  type FsGroupOutcome,
  type MemoryMount,
  MountError,
  type MountErrorCode,
  type MountPoint,
  type Mounts,
  type SubPathBind,
  type VolumeUsage,
} from "../src/ports/mounts.ts";
import type { Mountable } from "./disk-mounts.ts";
import { FakeDevices } from "./fake-devices.ts";
import { directoryOf, joined, type Located, nameOf, newDirectory } from "./fake-disk.ts";
import type { FakeFiles } from "./fake-files.ts";
import { locateBelow } from "./fake-sub-path.ts";

/** Timeout of a call on a dead path. */
const LIMIT_MS = 10_000;
const PROGRESS_MS = 1_000;
const PARENT_MODE = 0o750;
const FILE_MODE = 0o640;
const MEMORY_MODE = 0o1777;

const codes: Readonly<Record<HostFileErrorCode, MountErrorCode>> = {
  notFound: "notFound",
  exists: "exists",
  notEmpty: "busy",
  // The disk returns notPermitted only for a loop of links.
  notPermitted: "unsafePath",
  noSpace: "noSpace",
  readOnly: "readOnly",
  tooLarge: "other",
  other: "other",
};

const BLOCK_BYTES = 4096;
const DISK_BYTES = 100 * 1024 ** 3;

export class FakeMounts implements Mounts {
  /** Paths whose mounts are in use. */
  readonly busy = new Set<string>();
  /** Duration of an ownership pass, by volume path. */
  readonly applyFsGroupMs = new Map<string, number>();
  readonly #files: FakeFiles;
  readonly #clock: Clock;
  /** Block devices and server exports, by name. */
  readonly devices: FakeDevices;

  constructor(files: FakeFiles, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
    this.devices = new FakeDevices(files.disk.mounts);
  }

  /** Paths at and below which nothing answers. Unmounting the last mount at such a path makes it answer again. */
  get dead(): Set<string> {
    return this.#files.disk.mounts.dead;
  }

  /** Mounts memory on a directory, as another program would. */
  plant(path: string): void {
    this.#mounts.attach(this.#memory("planted", undefined), this.#locate("mount at", path));
  }

  async table(): Promise<readonly MountPoint[]> {
    return this.#mounts.table();
  }

  async supportsNoswap(): Promise<boolean> {
    return true;
  }

  share(path: string, signal: AbortSignal): Promise<void> {
    return this.#call("share", [path], signal, () => {
      const place = this.#follow("share", path);
      if (place.mount.peers === 0) this.#mounts.attach(boundFrom(place), place, 1);
    });
  }

  mountMemory(path: string, { sizeBytes }: MemoryMount, signal: AbortSignal): Promise<void> {
    return this.#call("mount memory at", [], signal, () => this.#mountFresh(path, this.#memory("tmpfs", sizeBytes)));
  }

  mountHugepages(path: string, pageSize: string | undefined, signal: AbortSignal): Promise<void> {
    const superOptions = ["rw", ...(pageSize === undefined ? [] : [`pagesize=${pageSize.replace(/i$/, "")}`])];
    return this.#call("mount huge pages at", [], signal, () =>
      this.#mountFresh(path, { ...this.#memory("nodev", undefined), type: "hugetlbfs", superOptions }),
    );
  }

  bind(source: string, target: string, options: readonly string[], signal: AbortSignal): Promise<void> {
    return this.#call("bind to", [source], signal, () => {
      const found = this.#follow("bind", source);
      const place = this.#makeTarget(target, found);
      if (this.#files.isMountPoint(target) && place.entry !== found.entry) throw fail("bind to", target, "busy");
      const mount = this.#files.isMountPoint(target) ? place.mount : this.#mounts.attach(boundFrom(found), place);
      mount.isReadOnly ||= found.mount.isReadOnly || options.includes("ro");
    });
  }

  bindSubPath({ volume, subPath, target }: SubPathBind, signal: AbortSignal): Promise<void> {
    return this.#call("bind a subPath to", [volume], signal, () => {
      const root = this.#follow("bind a subPath of", volume);
      const found = locateBelow(this.#files, root, subPath);
      if (this.#files.isMountPoint(target) && this.#files.disk.find(target) === found.entry) return;
      for (const mount of this.#mounts.at(this.#realPath(target))) this.#mounts.detach(mount);
      this.#mounts.attach(boundFrom(found), this.#makeTarget(target, found));
    });
  }

  readBeneath(volume: string, path: string, bytesMax: number, signal: AbortSignal): Promise<Uint8Array> {
    return this.#call("read in", [volume], signal, () => {
      const names = path.split("/").filter((name) => name !== "" && name !== ".");
      if (path.startsWith("/") || names.length === 0 || names.includes("..")) throw fail("read in", path, "unsafePath");
      let found = this.#follow("read in", volume);
      for (const name of names) {
        if (found.entry.kind !== "directory") throw fail("read in", path, "notFound");
        const next = this.#files.disk.locate(joined(found.path, name));
        if (next === undefined) throw fail("read in", path, "notFound");
        if (next.entry.kind === "link") throw fail("read in", path, "unsafePath");
        found = next;
      }
      if (found.entry.kind !== "file" || found.entry.content.length > bytesMax) throw fail("read in", path, "other");
      return found.entry.content;
    });
  }

  unmount(path: string, { lazy }: { readonly lazy: boolean }, signal: AbortSignal): Promise<void> {
    return this.#call("unmount", [], signal, () => {
      for (const mount of this.#mounts.at(this.#realPath(path)).toReversed()) {
        const inUse = this.busy.has(path) || this.#mounts.inside(mount).length > 0;
        if (inUse && !lazy) throw fail("unmount", path, "busy");
        this.#mounts.detach(mount);
      }
    });
  }

  kindOf(path: string, signal: AbortSignal): Promise<PathKind> {
    return this.#call("look at", [path], signal, () => {
      if (this.devices.has(path)) return "blockDevice";
      const found = this.#files.disk.follow(path)?.entry.kind ?? "absent";
      return found === "link" ? "absent" : found;
    });
  }

  groupOf(path: string, signal: AbortSignal): Promise<number> {
    return this.#call("look at", [path], signal, () => this.#follow("look at", path).entry.gid);
  }

  makeDirectory(path: string, mode: number, signal: AbortSignal): Promise<void> {
    return this.#call("make directory", [path], signal, () => {
      if (this.#files.disk.directory(path) === undefined) this.#refuseReadOnly("make directory", path);
      this.#files.makeDirectory(path, mode);
    });
  }

  makeFile(path: string, mode: number, signal: AbortSignal): Promise<void> {
    return this.#call("make file", [path], signal, () => {
      const found = this.#files.disk.follow(path)?.entry;
      if (found?.kind === "file") return;
      this.#refuseReadOnly("make file", path);
      this.#files.makeFile(path, mode);
    });
  }

  async applyFsGroup(path: string, change: FsGroupChange, signal: AbortSignal): Promise<FsGroupOutcome> {
    const takesMs = this.applyFsGroupMs.get(path) ?? 0;
    for (let passedMs = 0; passedMs < takesMs; passedMs += PROGRESS_MS) {
      await sleep(this.#clock, Math.min(PROGRESS_MS, takesMs - passedMs), signal);
      change.onProgress(passedMs);
    }
    return this.#call("applyFsGroup", [path], signal, () => {
      const root = this.#locate("applyFsGroup", path);
      const { mode, gid, kind } = root.entry;
      if (kind === "link") throw fail("applyFsGroup", path, "unsafePath");
      const owned = rootIsOwned({ mode, gid, isDirectory: kind === "directory" }, change.group, change.readOnly);
      const files = change.onlyIfRootDiffers && owned ? 0 : this.#changeGroup(root, change);
      const refused = root.mount.isReadOnly ? files : 0;
      return { files, refused, firstRefusal: refused > 0 ? "read-only file system" : undefined };
    });
  }

  measure(path: string, how: "walk" | "filesystem", signal: AbortSignal): Promise<VolumeUsage> {
    return this.#call("measure", [path], signal, () => {
      const place = this.#follow("measure", path);
      const freeBytes = Math.min(place.mount.room.freeBytes, DISK_BYTES);
      const filesystem = {
        capacityBytes: DISK_BYTES,
        freeBytes,
        availableBytes: freeBytes,
        inodes: 1_000_000,
        inodesFree: 900_000,
      };
      return { filesystem, usage: how === "walk" ? this.#diskUsage(place) : undefined };
    });
  }

  removeTree(path: string, signal: AbortSignal): Promise<void> {
    return this.#call("remove", [], signal, async () => {
      const found = this.#files.disk.locate(path);
      if (found === undefined) return;
      if (this.#mounts.within(found.path).length > 0) throw fail("remove", path, "busy");
      await this.#answered("remove", path, signal);
      this.#refuseReadOnly("remove", path);
      this.#files.removeEntries(found.path, found.entry);
    });
  }

  formatOf(device: string, signal: AbortSignal): Promise<BlockFormat> {
    return this.#call("probe", [device], signal, () => this.devices.get(device).format);
  }

  check(device: string, signal: AbortSignal): Promise<CheckOutcome> {
    return this.#call("check", [device], signal, () => this.devices.get(device).check);
  }

  format(device: string, type: string, signal: AbortSignal): Promise<void> {
    return this.#call("format", [device], signal, () => this.devices.format(device, type));
  }

  mountDevice(
    device: string,
    target: string,
    type: string,
    options: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    return this.#call("mount at", [device], signal, () => {
      this.#mountFresh(target, this.devices.toMount(device, type));
      const [mount] = this.#mounts.at(this.#realPath(target)).slice(-1);
      if (mount !== undefined) mount.isReadOnly = options.includes("ro");
    });
  }

  get #mounts() {
    return this.#files.disk.mounts;
  }

  /** Counts one block per directory and link, and one per started block of a file. */
  #diskUsage({ entry, mount, path }: Located): DiskUsage {
    let bytes = BLOCK_BYTES * (entry.kind === "file" ? Math.ceil(entry.content.length / BLOCK_BYTES) : 1);
    let inodes = 1;
    for (const name of entry.kind === "directory" ? entry.entries.keys() : []) {
      const below = this.#files.disk.locate(joined(path, name));
      if (below?.mount !== mount) continue;
      const part = this.#diskUsage(below);
      bytes += part.bytes;
      inodes += part.inodes;
    }
    return { bytes, inodes };
  }

  /**
   * `touched` are the paths whose file systems the call accesses. A dead one makes the call wait until it times out.
   */
  async #call<T>(
    operation: string,
    touched: readonly string[],
    signal: AbortSignal,
    run: () => T | Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    for (const path of touched) await this.#answered(operation, path, signal);
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof HostFileError)) throw error;
      throw new MountError(operation, touched[0] ?? "", codes[error.code], error.message, { cause: error });
    }
  }

  async #answered(operation: string, path: string, signal: AbortSignal): Promise<void> {
    if (!this.#mounts.isDead(path)) return;
    await sleep(this.#clock, LIMIT_MS, signal);
    throw fail(operation, path, "unresponsive");
  }

  #mountFresh(path: string, what: Mountable): void {
    const place = this.#locate("mount at", path);
    const taken = this.#mounts.at(place.path).at(-1);
    if (taken === undefined) this.#mounts.attach(what, place);
    else if (taken.type !== what.type || taken.source !== what.source) throw fail("mount at", path, "busy");
  }

  #memory(source: string, sizeBytes: bigint | undefined): Mountable {
    const sized = sizeBytes !== undefined && sizeBytes > 0n;
    return {
      root: newDirectory(MEMORY_MODE, BigInt(Math.trunc(this.#clock.wallMs())) * 1_000_000n),
      room: { freeBytes: sized ? Number(sizeBytes) : Number.POSITIVE_INFINITY },
      type: "tmpfs",
      source,
      device: this.#mounts.newDevice(),
      rootPath: "/",
      superOptions: ["rw", ...(sized ? [`size=${sizeBytes / 1024n}k`] : [])],
    };
  }

  #makeTarget(target: string, source: Located): Located {
    this.#files.makeDirectory(directoryOf(target), PARENT_MODE);
    const found = this.#files.disk.locate(target);
    const isDirectory = source.entry.kind === "directory";
    if (
      found !== undefined &&
      !this.#files.isMountPoint(target) &&
      (found.entry.kind === "directory") !== isDirectory
    ) {
      this.#files.removeEntries(found.path, found.entry);
    }
    if (isDirectory) this.#files.makeDirectory(target, PARENT_MODE);
    else if (this.#files.disk.find(target) === undefined) this.#files.makeFile(target, FILE_MODE);
    return this.#locate("bind to", target);
  }

  #changeGroup(place: Located, change: FsGroupChange): number {
    const { entry, mount, path } = place;
    let files = 1;
    if (entry.kind === "directory") {
      for (const name of entry.entries.keys()) {
        const below = this.#files.disk.locate(joined(path, name));
        if (below?.mount === mount) files += this.#changeGroup(below, change);
      }
    }
    if (mount.isReadOnly) return files;
    entry.gid = change.group;
    const { mode, gid, kind } = entry;
    if (kind !== "link") entry.mode = groupMode({ mode, gid, isDirectory: kind === "directory" }, change.readOnly);
    return files;
  }

  #refuseReadOnly(operation: string, path: string): void {
    for (let here = path; ; here = directoryOf(here)) {
      const found = this.#files.disk.follow(here);
      if (found?.mount.isReadOnly === true) throw fail(operation, path, "readOnly");
      if (found !== undefined || here === "/") return;
    }
  }

  #locate(operation: string, path: string): Located {
    const found = this.#files.disk.locate(path);
    if (found === undefined) throw fail(operation, path, "notFound");
    return found;
  }

  #follow(operation: string, path: string): Located {
    const found = this.#files.disk.follow(path);
    if (found === undefined) throw fail(operation, path, "notFound");
    return found;
  }

  /** The path as the mount table shows it. */
  #realPath(path: string): string {
    const directory = this.#files.disk.follow(directoryOf(path));
    return directory === undefined ? path : joined(directory.path, nameOf(path));
  }
}

/** The same file system, visible at another path. */
function boundFrom({ entry, mount, path }: Located): Mountable {
  const below = path.slice(mount.path === "/" ? 0 : mount.path.length);
  const rootPath = mount.rootPath === "/" ? below || "/" : `${mount.rootPath}${below}`;
  return { ...mount, root: entry, rootPath };
}

const fail = (operation: string, path: string, code: MountErrorCode) => new MountError(operation, path, code, code);
