/**
 * The machine's own file systems, each device once, and memory by where it is mounted. Those that a server elsewhere answers for are left out:
 * to ask one may never end. So are those that come and go with pods, which the Go kubelet counts if they happened to be there when it started.
 */
import { statfsSync } from "node:fs";
import type { FilesystemFigures, MountFigures } from "../../../domain/stats/figures.ts";
import type { MountPoint } from "../../../ports/mounts.ts";
import { parseMountinfo } from "../../mounts/mountinfo.ts";
import type { Disks } from "./devices.ts";
import { orAbsent, readText } from "./small-files.ts";

const ON_DISK = /^(?:ext\d|xfs|btrfs|squashfs|f2fs|jfs|reiserfs|hfs|hfsplus|ntfs|vfat|fat|msdos|exfat|udf|iso9660)$/;
const OF_PODS =
  /\/pods\/[^/]+\/volumes(?:-subpaths)?\/|\/(?:sandboxes|io\.containerd\.runtime\.v2\.task|overlay-containers)\//;

export function mountsOfMachine(mountinfo: string, disks: Disks): readonly MountFigures[] {
  const mounts = parseMountinfo(readText(mountinfo) ?? "");
  return ownDevices(mounts).flatMap(({ name, mount }) => {
    const figures = filesystemOf(mount.path);
    if (figures === undefined) return [];
    const disk = disks.figuresOf(mount.device);
    return [{ device: name, ...figures, ...(disk === undefined ? {} : { disk }) }];
  });
}

interface Named {
  readonly name: string;
  readonly mount: MountPoint;
}

/** The first mount of a device counts, and the root's own before others. */
function ownDevices(mounts: readonly MountPoint[]): readonly Named[] {
  const found = new Map<string, Named>();
  const add = (name: string, mount: MountPoint) => {
    if (!found.has(name)) found.set(name, { name, mount });
  };
  const root = mounts.find(({ path }) => path === "/");
  if (root !== undefined) add(root.source, root);
  for (const mount of mounts) {
    if (OF_PODS.test(mount.path)) continue;
    if (mount.type === "tmpfs") add(mount.path, mount);
    else if (ON_DISK.test(mount.type)) add(mount.source, mount);
  }
  return [...found.values()];
}

export const filesystemOf = (path: string): FilesystemFigures | undefined =>
  orAbsent(() => {
    // Blocks are counted in units of `frsize`, which is the file system's own where it has one.
    const facts = statfsSync(path);
    const unit = facts.frsize ?? facts.bsize;
    return {
      capacityBytes: facts.blocks * unit,
      freeBytes: facts.bfree * unit,
      availableBytes: facts.bavail * unit,
      inodes: facts.files,
      inodesFree: facts.ffree,
    };
  });
