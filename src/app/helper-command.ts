/** How this program starts itself as a helper process of its own, by names that no help text shows. */
import { isSea } from "node:sea";
import type { HelperCommand } from "../wire/mounts/helper-process.ts";

export const VOLUME_HELPER = "volume-helper";
export const DOCTOR_HELPER = "doctor-helper";

/**
 * A single executable is the program itself, and not what an upgrade has put in its place since: the link is read between fork and exec, where
 * it still says what we run, even when that file is gone. Otherwise it is the script that Node was given.
 */
export const helperCommand = (name: typeof VOLUME_HELPER | typeof DOCTOR_HELPER): HelperCommand =>
  isSea() ? { file: "/proc/self/exe", args: [name] } : { file: process.execPath, args: [process.argv[1] ?? "", name] };
