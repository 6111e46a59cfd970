/** A cgroup's processes, their open files, and the network interfaces that they see. */
import { readdirSync, readlinkSync } from "node:fs";
import type { NetworkInterfaceStats } from "../../../domain/stats/stats-reading.ts";
import { orAbsent, readText } from "./small-files.ts";

export const processesOf = (directory: string): readonly string[] =>
  (readText(`${directory}/cgroup.procs`) ?? "").split("\n").filter((pid) => pid !== "");

export interface OpenFiles {
  readonly openFiles: number;
  readonly sockets: number;
}

/** A process that has ended meanwhile has none. */
export function openFilesOf(proc: string, pids: readonly string[]): OpenFiles {
  let openFiles = 0;
  let sockets = 0;
  for (const pid of pids) {
    const directory = `${proc}/${pid}/fd`;
    const names = orAbsent(() => readdirSync(directory)) ?? [];
    openFiles += names.length;
    for (const name of names) {
      if (orAbsent(() => readlinkSync(`${directory}/${name}`))?.startsWith("socket") === true) sockets += 1;
    }
  }
  return { openFiles, sockets };
}

/** The soft limit of a process; -1: unlimited. */
export function openFilesMax(proc: string, pid: string): number | undefined {
  const soft = /^Max open files\s+(\S+)/m.exec(readText(`${proc}/${pid}/limits`) ?? "")?.[1];
  if (soft === undefined) return undefined;
  return soft === "unlimited" ? -1 : Number(soft);
}

/**
 * Interfaces that cAdvisor ignores: loopback, bridges of container engines, and the host's ends of pods' veth pairs.
 */
const IGNORED = /^(?:lo|veth|docker|nerdctl)/i;

/** The interfaces of the process's network namespace. */
export const interfacesOf = (proc: string, pid: string): readonly NetworkInterfaceStats[] =>
  parseNetDev(readText(`${proc}/${pid}/net/dev`) ?? "");

function parseNetDev(text: string): readonly NetworkInterfaceStats[] {
  return text
    .split("\n")
    .slice(2)
    .flatMap((line) => {
      const colon = line.indexOf(":");
      const name = line.slice(0, colon).trim();
      if (colon === -1 || IGNORED.test(name)) return [];
      const [rxBytes, rxPackets, rxErrors, rxDropped, , , , , txBytes, txPackets, txErrors, txDropped] = line
        .slice(colon + 1)
        .trim()
        .split(/\s+/)
        .map(Number);
      if (txDropped === undefined) return [];
      return [
        {
          name,
          rxBytes,
          rxPackets,
          rxErrors,
          rxDropped,
          txBytes,
          txPackets,
          txErrors,
          txDropped,
        } as NetworkInterfaceStats,
      ];
    });
}
