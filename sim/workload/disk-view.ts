/** The fake disk as a process of the machine sees it: through links and mounts, without port calls and clock events. */
import type { Disk, DiskDirectory, DiskEntry, DiskFile } from "../fake-disk.ts";

/** The entry that a path resolves to; undefined if there is none. */
export const entryAt = (disk: Disk, path: string): DiskEntry | undefined => disk.follow(path)?.entry;

export function directoryAt(disk: Disk, path: string): DiskDirectory | undefined {
  const entry = entryAt(disk, path);
  return entry?.kind === "directory" ? entry : undefined;
}

/**
 * Every file that a container sees in a volume of written files, by its relative path. The writer's internal entries,
 * whose names begin with "..", are left out.
 */
export function visibleFiles(disk: Disk, root: string): ReadonlyMap<string, DiskFile> {
  const found = new Map<string, DiskFile>();
  const walk = (path: string) => {
    for (const name of directoryAt(disk, `${root}/${path}`)?.entries.keys() ?? []) {
      const below = path === "" ? name : `${path}/${name}`;
      if (below.startsWith("..")) continue;
      const entry = entryAt(disk, `${root}/${below}`);
      if (entry?.kind === "file") found.set(below, entry);
      if (entry?.kind === "directory") walk(below);
    }
  };
  walk("");
  return found;
}

/** The top-level names of the set behind `..data`, which are the names that users see. */
export const namesOfSet = (disk: Disk, root: string): ReadonlySet<string> =>
  new Set(directoryAt(disk, `${root}/..data`)?.entries.keys() ?? []);

export const textOf = ({ content }: DiskFile): string => new TextDecoder().decode(content);
