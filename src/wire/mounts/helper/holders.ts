/**
 * Who keeps a mount from being let go of, as far as the kernel tells by links: no file system is asked. Whoever sees the mount where we do is asked first. A mount
 * that is shared is held from other mount namespaces too, where it mostly has the same place.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** The first that is found, such as "pid 4711 (bash), by its working folder"; undefined: nobody that can be seen. */
export function holderOf(path: string): string | undefined {
  const own = linkAt("/proc/self/ns/mnt");
  const processes = namesIn("/proc").filter((name) => /^\d+$/.test(name));
  const byPlace = Map.groupBy(processes, (pid) => linkAt(`/proc/${pid}/ns/mnt`) === own);
  for (const pid of [...(byPlace.get(true) ?? []), ...(byPlace.get(false) ?? [])]) {
    const how = holds(`/proc/${pid}`, path);
    if (how !== undefined) return `pid ${pid} (${nameOf(pid)}), by ${how}`;
  }
  return undefined;
}

function holds(process: string, path: string): string | undefined {
  const isInside = (link: string | undefined) => link === path || link?.startsWith(`${path}/`) === true;
  if (isInside(linkAt(join(process, "cwd")))) return "its working folder";
  if (isInside(linkAt(join(process, "root")))) return "its root";
  const files = join(process, "fd");
  return namesIn(files).some((name) => isInside(linkAt(join(files, name)))) ? "an open file" : undefined;
}

/** A process that has ended meanwhile, or that is not ours to look at, holds nothing that we could name. */
function unlessGone<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

const linkAt = (path: string): string | undefined => unlessGone(() => readlinkSync(path), undefined);
const namesIn = (folder: string): readonly string[] => unlessGone(() => readdirSync(folder), []);
const nameOf = (pid: string): string => unlessGone(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim(), "gone");
