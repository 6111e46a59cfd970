/**
 * Plain files and directories at paths of the host that containers use. Symbolic links are followed, as the host would.
 */
import { type BigIntStats, chmodSync, closeSync, constants, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { PathKind } from "../../../domain/volumes/host-path.ts";
import { errnoOf } from "../../host/errno.ts";
import { HelperError } from "./helper-error.ts";

const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
/** The mode bits that mkdir and open apply; the others are set afterwards. */
const PLAIN_BITS = 0o1777;

export function kindOf(path: string): PathKind {
  const found = statOrNothing(path);
  if (found === undefined) return "absent";
  if (found.isFile()) return "file";
  if (found.isDirectory()) return "directory";
  if (found.isSocket()) return "socket";
  if (found.isCharacterDevice()) return "charDevice";
  return found.isBlockDevice() ? "blockDevice" : "other";
}

export const groupOf = (path: string): number => statSync(path).gid;

function statOrNothing(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true });
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/**
 * Creates one level at a time: Node's recursive mkdir reports a read-only file system as a missing one. The helper has
 * no umask.
 */
export function makeDirectory(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return expectDirectory(path);
    if (errnoOf(error) !== "ENOENT" || path === dirname(path)) throw error;
    makeDirectory(dirname(path), mode);
    return makeDirectory(path, mode);
  }
  if ((mode & ~PLAIN_BITS) !== 0) chmodSync(path, mode);
}

function expectDirectory(path: string): void {
  const kind = kindOf(path);
  if (kind !== "directory") throw new HelperError("exists", `${path} is there and no directory but ${kind}`);
}

export function makeFile(path: string, mode: number): void {
  try {
    closeSync(openSync(path, CREATE_NEW, mode));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    const kind = kindOf(path);
    if (kind !== "file") throw new HelperError("exists", `${path} is there and no file but ${kind}`);
  }
}
