/** The fake disk as a process of the machine sees it: through links and mounts, without calls and without events. */
import type { Disk, DiskEntry, DiskFile, DiskFolder } from "../fake-disk.ts";

/** What a path leads to in the end; undefined where that is nothing. */
export const entryAt = (disk: Disk, path: string): DiskEntry | undefined => disk.follow(path)?.entry;

export function folderAt(disk: Disk, path: string): DiskFolder | undefined {
  const entry = entryAt(disk, path);
  return entry?.kind === "folder" ? entry : undefined;
}

/** Every file that a container sees in a volume of written files, by its path below it; what the writer keeps for itself is left out. */
export function visibleFiles(disk: Disk, root: string): ReadonlyMap<string, DiskFile> {
  const found = new Map<string, DiskFile>();
  const walk = (path: string) => {
    for (const name of folderAt(disk, `${root}/${path}`)?.entries.keys() ?? []) {
      const below = path === "" ? name : `${path}/${name}`;
      if (below.startsWith("..")) continue;
      const entry = entryAt(disk, `${root}/${below}`);
      if (entry?.kind === "file") found.set(below, entry);
      if (entry?.kind === "folder") walk(below);
    }
  };
  walk("");
  return found;
}

/** The first parts of the paths that the set behind `..data` has: the names that users see of it. */
export const namesOfSet = (disk: Disk, root: string): ReadonlySet<string> =>
  new Set(folderAt(disk, `${root}/..data`)?.entries.keys() ?? []);

export const textOf = ({ content }: DiskFile): string => new TextDecoder().decode(content);
