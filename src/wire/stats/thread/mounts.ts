/**
 * The machine's own file systems: each device once, and tmpfs by mount path. File systems of remote servers are left
 * out, because a query of one may never return. So are mounts that come and go with pods; the Go kubelet counts those
 * that exist when it starts.
 */
import { statfsSync } from "node:fs";
import type { FilesystemStats, MountStats } from "../../../domain/stats/stats-reading.ts";
import type { MountPoint } from "../../../ports/mounts.ts";
import { parseMountinfo } from "../../mounts/mountinfo.ts";
import type { Disks } from "./devices.ts";
import { orAbsent, readText } from "./small-files.ts";

const ON_DISK = /^(?:ext\d|xfs|btrfs|squashfs|f2fs|jfs|reiserfs|hfs|hfsplus|ntfs|vfat|fat|msdos|exfat|udf|iso9660)$/;
const OF_PODS =
  /\/pods\/[^/]+\/volumes(?:-subpaths)?\/|\/(?:sandboxes|io\.containerd\.runtime\.v2\.task|overlay-containers)\//;

export function mountsOfMachine(mountinfo: string, disks: Disks): readonly MountStats[] {
  const mounts = parseMountinfo(readText(mountinfo) ?? "");
  return ownDevices(mounts).flatMap(({ name, mount }) => {
    const stats = filesystemOf(mount.path);
    if (stats === undefined) return [];
    const disk = disks.figuresOf(mount.device);
    return [{ device: name, ...stats, ...(disk === undefined ? {} : { disk }) }];
  });
}

interface Named {
  readonly name: string;
  readonly mount: MountPoint;
}

/** The first mount of a device counts; the root mount comes before all others. */
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

export const filesystemOf = (path: string): FilesystemStats | undefined =>
  orAbsent(() => {
    // Blocks are counted in units of `frsize`, the file system's own unit, if it has one.
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
