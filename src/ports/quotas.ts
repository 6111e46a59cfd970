/**
 * Project quotas of the node's file systems: the file system itself counts what lies in a directory, also files that
 * are open and have no name any more. Quotas are used to measure, never to limit.
 *
 * Every call rejects with a `MountError`, or with the signal's reason. A call whose answer was lost may be repeated.
 * Paths are absolute.
 */
import type { DiskUsage } from "./mounts.ts";

export type QuotaAssignment =
  | { readonly kind: "assigned"; readonly project: number }
  | { readonly kind: "unavailable"; readonly why: QuotaObstacle };

/**
 * "tool": the program that manages quotas is not installed. "filesystem": it counts no projects. "path": it cannot be
 * written into the files of projects. "content": the directory had content before, which would not be counted.
 */
export type QuotaObstacle = "tool" | "filesystem" | "path" | "content";

export interface Quotas {
  /**
   * Gives an empty directory its project, to which belongs whatever is created in it from then on. A directory that has
   * one keeps it, also after a crash of the machine or of the caller at any moment. No two directories have the same
   * project, and none gets a project that files of a removed directory still have.
   */
  assign(path: string, signal: AbortSignal): Promise<QuotaAssignment>;
  /** The usage of a project that was assigned to this directory, with the directory itself. */
  usage(path: string, project: number, signal: AbortSignal): Promise<DiskUsage>;
  /**
   * Releases the projects of directories at and below this one that no longer exist. Returns the paths of these
   * directories.
   */
  releaseRemoved(directory: string, signal: AbortSignal): Promise<readonly string[]>;
}
