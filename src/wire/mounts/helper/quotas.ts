/**
 * Project quotas by xfs_quota. /etc/projects records which directory has which project. A project is written there
 * before its directory joins it, and removed from there after the directory: so a crash at any moment leaves a directory
 * that is found again, or an entry that `releaseProjects` removes.
 */
import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DiskUsage, MountPoint } from "../../../ports/mounts.ts";
import type { QuotaAssignment, QuotaObstacle } from "../../../ports/quotas.ts";
import { errnoOf } from "../../host/errno.ts";
import { mountOf, parseMountinfo } from "../mountinfo.ts";
import {
  directoryOf,
  type ProjectFiles,
  projectOf,
  unnamedProjects,
  withoutDirectories,
  withProject,
} from "../project-files.ts";
import {
  checkProject,
  countsProjects,
  isInProject,
  isPlainPath,
  joinProject,
  parseUsage,
  QUOTA_TYPES,
  quotaCall,
  STATE,
  usageCommands,
} from "../quota-tool.ts";
import { codeOfOutput, type ToolResult, toolFailure } from "../tool-answers.ts";
import { HelperError } from "./helper-error.ts";
import { changeProjects, readProjects } from "./project-store.ts";
import { runTool } from "./run-tool.ts";

/** As many unnamed projects as the Go kubelet tries. */
const TRIES_MAX = 128;

const unavailable = (why: QuotaObstacle): QuotaAssignment => ({ kind: "unavailable", why });

export async function assignProject(path: string): Promise<QuotaAssignment> {
  const isEmpty = readdirSync(path).length === 0;
  const mount = mountAt(path);
  if (mount === undefined || !QUOTA_TYPES.has(mount.type)) return unavailable("filesystem");
  if (![path, mount.path, mount.source].every(isPlainPath)) return unavailable("path");
  const { result: state } = await runQuotaTool(mount, [STATE]);
  if (state.kind === "missing") return unavailable("tool");
  if (state.kind !== "exited" || !countsProjects(state.stdout)) return unavailable("filesystem");
  const known = projectOf(readProjects(), path);
  if (known !== undefined && (await isJoined(mount, path, known))) return { kind: "assigned", project: known };
  if (!isEmpty) return unavailable("content");
  const project = known ?? (await recordProject(mount, path));
  const joined = await answerOf(mount, [joinProject(path, project), checkProject(path, project)]);
  if (!isInProject(joined)) throw new HelperError("other", `it did not join project ${project}`);
  return { kind: "assigned", project };
}

export async function projectUsage(path: string, project: number): Promise<DiskUsage> {
  const mount = mountAt(path);
  if (mount === undefined) throw new HelperError("notFound", "no mount contains it");
  const usage = await usageOf(mount, project);
  // The directory itself counts.
  if (usage.inodes === 0) throw new HelperError("other", `the file system counts nothing for project ${project}`);
  return usage;
}

export async function releaseProjects(directory: string): Promise<readonly string[]> {
  if (removedIn(directory, readProjects()).length === 0) return [];
  let released: readonly string[] = [];
  await changeProjects((files) => {
    released = removedIn(directory, files);
    return withoutDirectories(files, new Set(released));
  });
  return released;
}

const removedIn = (directory: string, { projects }: ProjectFiles): readonly string[] =>
  projects
    .map((line) => directoryOf(line)?.path ?? "")
    .filter((path) => (path === directory || path.startsWith(`${directory}/`)) && !exists(path));

function exists(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return false;
    throw error;
  }
}

async function recordProject(mount: MountPoint, path: string): Promise<number> {
  let recorded = 0;
  await changeProjects(async (files) => {
    recorded = await unusedProject(mount, files);
    return withProject(files, { project: recorded, path });
  });
  return recorded;
}

/** A project that no file names may still have files, for example of a removed directory. */
async function unusedProject(mount: MountPoint, files: ProjectFiles): Promise<number> {
  for (const project of unnamedProjects(files, TRIES_MAX)) {
    const { bytes, inodes } = await usageOf(mount, project);
    if (bytes === 0 && inodes === 0) return project;
  }
  throw new HelperError("noSpace", `${TRIES_MAX} projects that no directory has still have files`);
}

async function usageOf(mount: MountPoint, project: number): Promise<DiskUsage> {
  const output = await answerOf(mount, usageCommands(project));
  const usage = parseUsage(output);
  if (usage === undefined) throw new HelperError("other", `xfs_quota printed ${JSON.stringify(output)}`);
  return usage;
}

const isJoined = async (mount: MountPoint, path: string, project: number): Promise<boolean> =>
  isInProject(await answerOf(mount, [checkProject(path, project)]));

const mountAt = (path: string): MountPoint | undefined =>
  mountOf(parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8")), realpathSync(path));

/** What the tool prints. It may report an error and end with 0. */
async function answerOf(mount: MountPoint, commands: readonly string[]): Promise<string> {
  const { call, result } = await runQuotaTool(mount, commands);
  if (result.kind !== "exited" || result.code !== 0 || result.output !== result.stdout)
    throw new HelperError(codeOfOutput(result), toolFailure(call, result));
  return result.stdout;
}

async function runQuotaTool(mount: MountPoint, commands: readonly string[]) {
  const descriptor = mountTable(mount);
  try {
    const call = quotaCall(mount.path, "/dev/fd/3", commands);
    const result: ToolResult = await runTool(call, { descriptor });
    return { call, result };
  } finally {
    closeSync(descriptor);
  }
}

/** A mount table of one line, in a file without a name. */
function mountTable({ source, path, type }: MountPoint): number {
  const name = join(tmpdir(), `.deckhand-mount-${process.pid}`);
  const descriptor = openSync(name, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
  unlinkSync(name);
  writeSync(descriptor, `${source} ${path} ${type} rw 0 0\n`);
  return descriptor;
}
