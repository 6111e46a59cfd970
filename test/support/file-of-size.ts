/** A HostFiles port on which one file has a size that nobody has to hold in memory. */
import { HostFileError, type HostFiles } from "../../src/ports/host-files.ts";

/** Reading `path` rejects "tooLarge" where its reader allows fewer than `sizeBytes`; otherwise its content is that of `files`. */
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
