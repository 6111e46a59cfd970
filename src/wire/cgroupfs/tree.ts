/** What a hierarchy of control groups needs of a file system. Groups are folders, their values are files that the kernel makes. */
import { constants } from "node:fs";
import { mkdir, open, readdir, readFile, rmdir, stat } from "node:fs/promises";

export interface CgroupTree {
  isGroup(path: string): Promise<boolean>;
  /** Makes one group whose parent is there; content with one that exists. */
  make(path: string): Promise<void>;
  /** Names of the groups directly below; none where there is no such group. */
  children(path: string): Promise<readonly string[]>;
  /** Undefined where there is no such file. */
  read(path: string): Promise<string | undefined>;
  /** Rejects where there is no such file. */
  write(path: string, text: string): Promise<void>;
  /** Takes one group away. "busy" while something is in it. */
  remove(path: string): Promise<"removed" | "busy">;
  /** SIGKILL; content with a process that is gone. */
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
  // ENODEV: the group went away while its file was open.
  read: (path) => unless(["ENOENT", "ENODEV"], readFile(path, "utf8")),
  async write(path, text) {
    // Never creates: a file that is not there belongs to a controller that is not there.
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
