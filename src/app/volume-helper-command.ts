/** How this program starts itself as a helper process of its own, by a name that no help text shows. */
import { isSea } from "node:sea";
import type { HelperCommand } from "../wire/mounts/helper-process.ts";

export const VOLUME_HELPER = "volume-helper";

/** A single executable is the program itself; otherwise it is the script that Node was given. */
export const volumeHelperCommand = (): HelperCommand => ({
  file: process.execPath,
  args: isSea() ? [VOLUME_HELPER] : [process.argv[1] ?? "", VOLUME_HELPER],
});
