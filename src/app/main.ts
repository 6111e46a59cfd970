/**
 * The program: by which name it was called, with what, and the exit code of what that did. A helper process loads nothing but its own part: each
 * one counts towards the agent's memory.
 */
import { VOLUME_HELPER } from "./volume-helper-command.ts";

if (process.argv[2] === VOLUME_HELPER) {
  const { runVolumeHelper } = await import("../wire/mounts/helper/volume-helper.ts");
  await runVolumeHelper(process.stdin);
} else {
  const { runMain } = await import("./run-main.ts");
  process.exitCode = await runMain();
}
