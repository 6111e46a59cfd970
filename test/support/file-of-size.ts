/** A HostFiles port on which one file claims a size without anyone holding its bytes in memory. */
import { HostFileError, type HostFiles } from "../../src/ports/host-files.ts";

/**
 * Reading `path` rejects with "tooLarge" when its reader allows fewer than `sizeBytes`; otherwise returns the content
 * from `files`.
 */
export const withFileOfSize = <Files extends Pick<HostFiles, "read">>(
  files: Files,
  path: string,
  sizeBytes: number,
): Files => ({
  ...files,
  read: async (asked: string, bytesMax: number) => {
    if (asked === path && sizeBytes > bytesMax) throw new HostFileError("read", path, "tooLarge", "tooLarge");
    return files.read(asked, bytesMax);
  },
});
