/**
 * Runs a test file again in its own mount namespace, so that its mounts never stay on the machine, however the test
 * ends. The namespace ends with its last process, and that process is killed when its parent exits.
 */
import { spawnSync } from "node:child_process";

const INSIDE = "DECKHAND_PRIVATE_MOUNTS";

/** Returns true inside the namespace. Outside, runs the file inside, passes its output on, and adopts its exit code. */
export function inPrivateMounts(file: string): boolean {
  if (process.env[INSIDE] !== undefined) return true;
  const again = [process.execPath, ...process.execArgv, file];
  const args = ["--pdeathsig", "SIGKILL", "unshare", "--mount", "--propagation", "private", ...again];
  const { status, error } = spawnSync("setpriv", args, { stdio: "inherit", env: { ...process.env, [INSIDE]: "1" } });
  if (error !== undefined) throw error;
  process.exitCode = status ?? 1;
  return false;
}
