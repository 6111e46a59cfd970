/**
 * The file system operations that a cgroup hierarchy needs. Cgroups are directories; their values are files that the
 * kernel creates.
 */
import { constants } from "node:fs";
import { mkdir, open, readdir, readFile, rmdir, stat } from "node:fs/promises";

export interface CgroupTree {
  isGroup(path: string): Promise<boolean>;
  /** Creates one cgroup whose parent exists. Succeeds if the cgroup already exists. */
  make(path: string): Promise<void>;
  /** Names of the cgroups directly below; empty if the cgroup does not exist. */
  children(path: string): Promise<readonly string[]>;
  /** Undefined if the file does not exist. */
  read(path: string): Promise<string | undefined>;
  /** Rejects if the file does not exist. */
  write(path: string, text: string): Promise<void>;
  /** Removes one cgroup; "busy" while it still contains processes or cgroups. */
  remove(path: string): Promise<"removed" | "busy">;
  /** Sends SIGKILL; ignores a process that no longer exists. */
  kill(pid: number): void;
}

export const hostTree: CgroupTree = {
  async isGroup(path) {
    const found = await unless(["ENOENT", "ENOTDIR"], stat(path));
    return found?.isDirectory() ?? false;
  },
  async make(path) {
    await unless(["EEXIST"], mkdir(path, 0o755));
  },
  async children(path) {
    const entries = await unless(["ENOENT"], readdir(path, { withFileTypes: true }));
    return (entries ?? []).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  },
  // ENODEV: the cgroup was removed while its file was open.
  read: (path) => unless(["ENOENT", "ENODEV"], readFile(path, "utf8")),
  async write(path, text) {
    // Never create the file: a missing file belongs to a missing controller.
    const file = await open(path, constants.O_WRONLY | constants.O_TRUNC);
    try {
      await file.write(text);
    } finally {
      await file.close();
    }
  },
  async remove(path) {
    try {
      await unless(["ENOENT"], rmdir(path));
      return "removed";
    } catch (error) {
      if (["EBUSY", "ENOTEMPTY"].includes(codeOf(error))) return "busy";
      throw error;
    }
  },
  kill(pid) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if (codeOf(error) !== "ESRCH") throw error;
    }
  },
};

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? "";

async function unless<T>(codes: readonly string[], work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (codes.includes(codeOf(error))) return undefined;
    throw error;
  }
}
