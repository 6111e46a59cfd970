/** Maps the kernel's error numbers to the port's codes. */
import { HostFileError, type HostFileErrorCode } from "../../ports/host-files.ts";

const codes: ReadonlyMap<string, HostFileErrorCode> = new Map([
  ["ENOENT", "notFound"],
  ["ENOTDIR", "notFound"],
  ["EEXIST", "exists"],
  ["EISDIR", "exists"],
  ["ENOTEMPTY", "notEmpty"],
  ["EACCES", "notPermitted"],
  ["EPERM", "notPermitted"],
  ["ELOOP", "notPermitted"],
  ["ENOSPC", "noSpace"],
  ["EDQUOT", "noSpace"],
  ["EROFS", "readOnly"],
  ["EFBIG", "tooLarge"],
]);

export const errnoOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/** Runs one call of the port. Whatever it throws becomes the port's error, exactly once. */
export async function asHostFileErrors<T>(operation: string, path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof HostFileError) throw error;
    const errno = errnoOf(error);
    const detail = errno === "" ? String(error) : errno;
    throw new HostFileError(operation, path, codes.get(errno) ?? "other", detail, { cause: error });
  }
}
