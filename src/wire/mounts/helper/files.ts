/** Plain files and folders where a container finds them by a path of the machine's own: links are followed, as the machine would. */
import { type BigIntStats, chmodSync, closeSync, constants, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { PathKind } from "../../../ports/mounts.ts";
import { errnoOf } from "../../host/errno.ts";
import { HelperError } from "./helper-error.ts";

const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
/** What mkdir and open take; the rest is set after. */
const PLAIN_BITS = 0o1777;

export function kindOf(path: string): PathKind {
  const found = statOrNothing(path);
  if (found === undefined) return "absent";
  if (found.isFile()) return "file";
  if (found.isDirectory()) return "folder";
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

/** The helper has no umask. One by one: Node's own way of making several calls a read-only file system a missing one. */
export function makeFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return expectFolder(path);
    if (errnoOf(error) !== "ENOENT" || path === dirname(path)) throw error;
    makeFolder(dirname(path), mode);
    return makeFolder(path, mode);
  }
  if ((mode & ~PLAIN_BITS) !== 0) chmodSync(path, mode);
}

function expectFolder(path: string): void {
  const kind = kindOf(path);
  if (kind !== "folder") throw new HelperError("exists", `${path} is there and no folder but ${kind}`);
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
