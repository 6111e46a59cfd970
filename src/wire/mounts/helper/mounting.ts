/**
 * Mounts and unmounts with the machine's tools. Each call checks the mount table first, so that a repeated call changes
 * nothing.
 */
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { MountPoint } from "../../../ports/mounts.ts";
import { errnoOf } from "../../host/errno.ts";
import { isShared, mountOf, mountsAt, parseMountinfo } from "../mountinfo.ts";
import type { DeviceMount, RequestOf } from "../protocol.ts";
import { codeOfOutput, mountFailure, saysNotMounted, unmountFailure } from "../tool-answers.ts";
import {
  bindCall,
  bindToItselfCall,
  deviceMountCall,
  hugepagesMountCall,
  inScope,
  makeSharedCall,
  memoryMountCall,
  remountBindCall,
  scopeProbeCall,
  type ToolCall,
  unmountCall,
} from "../tool-arguments.ts";
import { isSameFile } from "./descriptor.ts";
import { makeDirectory } from "./files.ts";
import { HelperError } from "./helper-error.ts";
import { holderOf } from "./holders.ts";
import { runTool, type ToolOptions } from "./run-tool.ts";

const PARENT_MODE = 0o750;
const FILE_MODE = 0o640;
const STACKED_MAX = 100;

export const readTable = (): readonly MountPoint[] => parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8"));

/** The path as the mount table names it. Its last component is not accessed: the server behind it may be dead. */
export const inTable = (path: string): string => join(realpathSync(dirname(path)), basename(path));

export async function mount(call: ToolCall, options: ToolOptions = {}): Promise<void> {
  const result = await runTool(call, options);
  if (result.kind === "exited" && result.code === 0) return;
  throw new HelperError(codeOfOutput(result), mountFailure(call, result));
}

export async function share({ path }: RequestOf<"share">): Promise<void> {
  const real = realpathSync(path);
  if (isShared(mountOf(readTable(), real))) return;
  await mount(bindToItselfCall(real));
  await mount(makeSharedCall(real));
}

export const mountMemory = ({ path, sizeBytes, noSwap }: RequestOf<"mountMemory">): Promise<void> =>
  mountFresh(
    path,
    "tmpfs",
    memoryMountCall(path, { sizeBytes: sizeBytes === undefined ? undefined : BigInt(sizeBytes), noSwap }),
  );

export const mountHugepages = ({ path, pageSize }: RequestOf<"mountHugepages">): Promise<void> =>
  mountFresh(path, "hugetlbfs", hugepagesMountCall(path, pageSize));

async function mountFresh(path: string, type: string, call: ToolCall): Promise<void> {
  const top = mountsAt(readTable(), inTable(path)).at(-1);
  if (top?.type === type) return;
  if (top !== undefined) throw isTaken(top);
  await mount(call);
}

const isTaken = ({ path, type, source }: MountPoint) =>
  new HelperError("busy", `something else is mounted at ${path}: ${type} of ${source}`);

export async function mountDevice({ device, target, type, options }: DeviceMount): Promise<void> {
  const top = mountsAt(readTable(), inTable(target)).at(-1);
  if (top !== undefined && top.source !== device && !isDevice(device, top)) throw isTaken(top);
  if (top !== undefined) return;
  const call = deviceMountCall(device, target, type, options);
  await mount((await hasSystemd()) ? inScope(call, target) : call);
}

/** A link such as /dev/disk/by-id names a device that the table lists under another name. */
function isDevice(device: string, { device: numbers }: MountPoint): boolean {
  const found = statSync(device, { throwIfNoEntry: false });
  if (found === undefined || !found.isBlockDevice()) return false;
  return numbers === `${(found.rdev >> 8) & 0xfff}:${(found.rdev & 0xff) | ((found.rdev >> 12) & 0xfff00)}`;
}

/** Whether systemd is there and runs units: it may be installed where something else is process 1. */
async function hasSystemd(): Promise<boolean> {
  if (!existsSync("/run/systemd/system")) return false;
  const result = await runTool(scopeProbeCall);
  return result.kind === "exited" && result.code === 0;
}

export async function bind({ source, target, options }: RequestOf<"bind">): Promise<void> {
  const wanted = statSync(source, { bigint: true });
  const path = inMadeDirectory(target);
  const top = mountsAt(readTable(), path).at(-1);
  if (top !== undefined && !isSameFile(lstatSync(path, { bigint: true }), wanted)) throw isTaken(top);
  if (top === undefined) {
    makeTarget(path, wanted.isDirectory());
    await mount(bindCall(source, path, options));
  }
  const remount = remountBindCall(source, path, options, mountsAt(readTable(), path).at(-1));
  if (remount !== undefined) await mount(remount);
}

/** The target as the mount table names it; its parent directory is created if missing. */
export function inMadeDirectory(target: string): string {
  makeDirectory(dirname(target), PARENT_MODE);
  return inTable(target);
}

/**
 * A directory is mounted on a directory, and anything else on a file. A leftover of the other kind is removed; a
 * directory only if it is empty.
 */
export function makeTarget(path: string, isDirectory: boolean): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory() && !found.isFile()) {
    throw new HelperError("unsafePath", `${path} is neither a directory nor a file`);
  }
  if (found?.isDirectory() === isDirectory) return;
  if (found?.isDirectory() === true) rmdirSync(path);
  if (found?.isFile() === true) unlinkSync(path);
  if (isDirectory) mkdirSync(path, { mode: PARENT_MODE });
  else closeSync(openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, FILE_MODE));
}

export async function unmount({ path, lazy }: { readonly path: string; readonly lazy: boolean }): Promise<void> {
  const real = mountsAt(readTable(), path).length > 0 ? path : nameInTable(path);
  if (real === undefined) return;
  for (let before = Number.POSITIVE_INFINITY, turn = 0; turn < STACKED_MAX; turn += 1) {
    const stacked = mountsAt(readTable(), real).length;
    if (stacked === 0) return;
    if (stacked >= before) throw new HelperError("busy", `${stacked} mounts stay at ${real}`);
    before = stacked;
    const result = await runTool(unmountCall(real, lazy));
    if (result.kind === "exited" && (result.code === 0 || saysNotMounted(result))) continue;
    const code = codeOfOutput(result);
    throw new HelperError(code, unmountFailure(path, result, code === "busy" ? holderOf(real) : undefined));
  }
}

function nameInTable(path: string): string | undefined {
  try {
    return inTable(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined; // A missing path has no mount.
    throw error;
  }
}
