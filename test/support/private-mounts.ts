/**
 * A test that mounts must leave nothing on the machine, however it ends. So its file is run again in a mount namespace of its own, whose mounts
 * go with the last process in it; and that process goes when the one that started it does.
 */
import { spawnSync } from "node:child_process";

const INSIDE = "DECKHAND_PRIVATE_MOUNTS";

/** True inside. Outside it runs the file inside, passes on what that prints, and takes over its exit code. */
export function inPrivateMounts(file: string): boolean {
  if (process.env[INSIDE] !== undefined) return true;
  const again = [process.execPath, ...process.execArgv, file];
  const args = ["--pdeathsig", "SIGKILL", "unshare", "--mount", "--propagation", "private", ...again];
  const { status, error } = spawnSync("setpriv", args, { stdio: "inherit", env: { ...process.env, [INSIDE]: "1" } });
  if (error !== undefined) throw error;
  process.exitCode = status ?? 1;
  return false;
}
