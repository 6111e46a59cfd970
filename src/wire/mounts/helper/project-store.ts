/**
 * Reads and changes /etc/projects and /etc/projid. Other programs lock both files while they change them, and replace
 * them by renaming, as we do. A change is on disk before the call returns.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { temporaryBeside } from "../../host/durable-writes.ts";
import { errnoOf } from "../../host/errno.ts";
import { linesOf, type ProjectFiles, textOf } from "../project-files.ts";
import { toolFailure } from "../tool-answers.ts";
import { HelperError } from "./helper-error.ts";
import { runTool } from "./run-tool.ts";

const PROJECTS = "/etc/projects";
const NAMES = "/etc/projid";
const MODE = 0o644;
const WAIT_S = 10;
const DESCRIPTOR = 3;

export const readProjects = (): ProjectFiles => ({ projects: linesAt(PROJECTS), names: linesAt(NAMES) });

function linesAt(path: string): readonly string[] {
  try {
    if (!lstatSync(path).isFile()) throw new HelperError("other", `${path} is no regular file`);
    return linesOf(readFileSync(path, "utf8"));
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** `change` sees the current files; it returns what they become, or undefined to leave them as they are. */
export async function changeProjects(
  change: (files: ProjectFiles) => Promise<ProjectFiles | undefined> | ProjectFiles | undefined,
): Promise<void> {
  const held = [await lock(PROJECTS)];
  try {
    held.push(await lock(NAMES));
    const before = readProjects();
    const after = await change(before);
    if (after === undefined) return;
    // A name without its directory names no project twice: so the names are the first to grow and the last to shrink.
    const names = () => replace(NAMES, before.names, after.names);
    if (after.names.length > before.names.length) names();
    replace(PROJECTS, before.projects, after.projects);
    if (after.names.length <= before.names.length) names();
  } finally {
    held.forEach(closeSync);
  }
}

/** The lock is the kernel's (flock), and Node has none: a program locks the descriptor that it inherits. */
async function lock(path: string): Promise<number> {
  for (;;) {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_CREAT | constants.O_NOFOLLOW, MODE);
    try {
      const call = { command: "flock", args: ["--exclusive", "--wait", String(WAIT_S), String(DESCRIPTOR)] };
      const result = await runTool(call, { descriptor });
      if (result.kind !== "exited" || result.code !== 0)
        throw new HelperError("busy", `cannot lock ${path}: ${toolFailure(call, result)}`);
      // Another program may have replaced the file while we waited.
      if (fstatSync(descriptor).ino === statSync(path).ino) return descriptor;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    closeSync(descriptor);
  }
}

function replace(path: string, before: readonly string[], after: readonly string[]): void {
  if (before.length === after.length && before.every((line, index) => line === after[index])) return;
  const temporary = temporaryBeside(path);
  const descriptor = openSync(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, MODE);
  try {
    fchmodSync(descriptor, statSync(path).mode & 0o777);
    writeFileSync(descriptor, textOf(after));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, path);
  const directory = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
