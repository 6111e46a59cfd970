/** How this program starts itself as a helper process, by names that no help text shows. */
import { isSea } from "node:sea";
import type { HelperCommand } from "../wire/mounts/helper-process.ts";

export const VOLUME_HELPER = "volume-helper";
export const DOCTOR_HELPER = "doctor-helper";

/**
 * In a single executable the helper is the running program, not a file that an upgrade has since put in its place. The
 * /proc/self/exe link is resolved between fork and exec, where it still names the running program, even if that file is
 * deleted. Otherwise the helper is the script that Node.js was given.
 */
export const helperCommand = (name: typeof VOLUME_HELPER | typeof DOCTOR_HELPER): HelperCommand =>
  isSea() ? { file: "/proc/self/exe", args: [name] } : { file: process.execPath, args: [process.argv[1] ?? "", name] };
