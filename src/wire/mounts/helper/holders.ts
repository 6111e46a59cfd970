/**
 * Finds the process that keeps a mount busy, as far as the kernel shows it by links: no file system is accessed.
 * Processes in our mount namespace are checked first. Other mount namespaces hold a shared mount too, mostly at the
 * same path.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** The first holder found, such as "pid 4711 (bash), by an open file"; undefined: none is visible. */
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
  if (isInside(linkAt(join(process, "cwd")))) return "its working directory";
  if (isInside(linkAt(join(process, "root")))) return "its root";
  const files = join(process, "fd");
  return namesIn(files).some((name) => isInside(linkAt(join(files, name)))) ? "an open file" : undefined;
}

/** A process that has ended meanwhile, or that we may not inspect, holds nothing that we could name. */
function unlessGone<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

const linkAt = (path: string): string | undefined => unlessGone(() => readlinkSync(path), undefined);
const namesIn = (directory: string): readonly string[] => unlessGone(() => readdirSync(directory), []);
const nameOf = (pid: string): string => unlessGone(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim(), "gone");
