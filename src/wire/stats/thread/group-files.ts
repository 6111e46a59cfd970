/** Where the files of a group are, by version; and what every part of its figures is read with. */
import type { CpuFigures, IoFigures, MemoryFigures } from "../../../domain/stats/figures.ts";
import type { StatsDetail } from "../../../ports/stats.ts";

/** How a machine keeps its groups. */
export interface GroupReader {
  /** The folder whose subfolders are the groups below, and which lists their processes. */
  folderOf(group: string): string;
  /** Files whose age is the group's. */
  birthFiles(group: string): readonly string[];
  cpu(group: string, detail: StatsDetail): CpuFigures | undefined;
  memory(group: string, detail: StatsDetail): MemoryFigures | undefined;
  io(group: string, detail: StatsDetail): IoFigures | undefined;
  threads(group: string): { readonly threads: number; readonly threadsMax: number } | undefined;
  readonly knowsPressure: boolean;
}

export const ROOT = "/";

/** Of a path below the root. */
export const parentOf = (group: string): string => group.slice(0, Math.max(1, group.lastIndexOf("/")));
