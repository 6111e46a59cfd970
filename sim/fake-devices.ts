/**
 * Block devices, and exports of file servers. Their files exist whether they are mounted or not, and survive a reboot.
 */
import { type BlockFormat, type CheckOutcome, MountError, type MountErrorCode } from "../src/ports/mounts.ts";
import type { DiskMounts, Mountable } from "./disk-mounts.ts";
import { type DiskDirectory, newDirectory } from "./fake-disk.ts";

interface FakeDevice {
  format: BlockFormat;
  /** The result of a file system check. */
  check: CheckOutcome;
  readonly device: string;
  readonly files: DiskDirectory;
}

const KNOWN_TYPES = new Set(["ext3", "ext4", "xfs"]);

const fail = (operation: string, path: string, code: MountErrorCode) => new MountError(operation, path, code, code);

export class FakeDevices {
  readonly #mounts: DiskMounts;
  readonly #all = new Map<string, FakeDevice>();

  constructor(mounts: DiskMounts) {
    this.#mounts = mounts;
  }

  /** Adds a device that has no file system. */
  add(path: string): FakeDevice {
    const format = { type: undefined, partitioned: false };
    const made: FakeDevice = {
      format,
      check: "clean",
      device: this.#mounts.newDevice(),
      files: newDirectory(0o755, 0n),
    };
    this.#all.set(path, made);
    return made;
  }

  has(path: string): boolean {
    return this.#all.has(path);
  }

  get(path: string): FakeDevice {
    const found = this.#all.get(path);
    if (found === undefined) throw fail("look at", path, "notFound");
    return found;
  }

  format(path: string, type: string): void {
    const found = this.get(path);
    if (!KNOWN_TYPES.has(type)) throw fail("format", path, "other");
    found.format = { type, partitioned: false };
    found.files.entries.clear();
  }

  /** A disk must already have this file system type. An export is created when it is first mounted. */
  toMount(source: string, type: string): Mountable {
    const isDisk = source.startsWith("/");
    const found = isDisk || this.has(source) ? this.get(source) : this.add(source);
    if (isDisk && found.format.type !== type) throw fail("mount", source, "other");
    const { files: root, device } = found;
    const room = { freeBytes: Number.POSITIVE_INFINITY };
    return { root, room, type, source, device, rootPath: "/", superOptions: ["rw"] };
  }
}
