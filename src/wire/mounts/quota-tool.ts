/** The command lines of xfs_quota(8), which also manages the project quotas of ext4, and its output. */
import type { DiskUsage } from "../../ports/mounts.ts";
import type { ToolCall } from "./tool-arguments.ts";

/** The types of file systems that count projects. */
export const QUOTA_TYPES: ReadonlySet<string> = new Set(["xfs", "ext4"]);

/**
 * Only with this mount in its table: the tool would inspect all mounts, and hang on that of a dead server. Projects are
 * numbers, so it reads no file of projects.
 */
export const quotaCall = (mountPoint: string, table: string, commands: readonly string[]): ToolCall => ({
  command: "xfs_quota",
  args: [
    "-t",
    table,
    "-P/dev/null",
    "-D/dev/null",
    "-x",
    "-f",
    ...commands.flatMap((command) => ["-c", command]),
    mountPoint,
  ],
});

export const STATE = "state -p";
export const countsProjects = (output: string): boolean => output.includes("Accounting: ON");

/**
 * For the directory alone: the tool follows names inside a volume, whose users may change them, to wherever they lead.
 */
export const joinProject = (path: string, project: number) => `project -s -d 0 -p ${path} ${project}`;
export const checkProject = (path: string, project: number) => `project -c -d 0 -p ${path} ${project}`;
export const isInProject = (output: string): boolean => !output.includes("is not set");

export const usageCommands = (project: number): readonly string[] =>
  ["-b", "-i"].map((unit) => `quota -p -N -n -v ${unit} ${project}`);

const KIB = 1024;

/** Blocks and inodes, each in a line after the device. XFS prints nothing for a project that was never used. */
export function parseUsage(output: string): DiskUsage | undefined {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return { bytes: 0, inodes: 0 };
  const [blocks, inodes] = lines.map((line) => /^\S*\s+(\d+)/.exec(line)?.[1]);
  if (blocks === undefined || inodes === undefined || lines.length > 2) return undefined;
  return { bytes: Number(blocks) * KIB, inodes: Number(inodes) };
}

/** A path of the tool's commands, of its table of mounts and of /etc/projects: neither of them can quote. */
export const isPlainPath = (path: string): boolean => /^\/[\w./~:@%+=,-]*$/.test(path);
