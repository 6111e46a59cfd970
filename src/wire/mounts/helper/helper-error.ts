/** How a request fails: with one of the port's codes. */
import { errorText } from "../../../base/error-text.ts";
import type { MountErrorCode } from "../../../ports/mounts.ts";
import { errnoOf } from "../../host/errno.ts";
import { MountPointInTree } from "../../host/remove-tree.ts";
import type { FinalReply } from "../protocol.ts";

export class HelperError extends Error {
  override readonly name = "HelperError";
  readonly code: MountErrorCode;
  constructor(code: MountErrorCode, detail: string) {
    super(detail);
    this.code = code;
  }
}

const codes: ReadonlyMap<string, MountErrorCode> = new Map([
  ["ENOENT", "notFound"],
  ["ENOTDIR", "notFound"],
  ["EEXIST", "exists"],
  ["EISDIR", "exists"],
  ["EBUSY", "busy"],
  ["ENOTEMPTY", "busy"],
  ["EACCES", "notPermitted"],
  ["EPERM", "notPermitted"],
  ["ELOOP", "unsafePath"],
  ["EROFS", "readOnly"],
  ["ENOSPC", "noSpace"],
  ["EDQUOT", "noSpace"],
]);

export function failureOf(error: unknown): FinalReply {
  if (error instanceof HelperError) return { kind: "failed", code: error.code, detail: error.message };
  if (error instanceof MountPointInTree) return { kind: "failed", code: "busy", detail: error.message };
  return { kind: "failed", code: codes.get(errnoOf(error)) ?? "other", detail: errorText(error) };
}
