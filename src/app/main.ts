/**
 * The program: by which name it was called, with what, and the exit code of what that did. A helper process loads nothing but its own part: each
 * one counts towards the agent's memory.
 */
import { DOCTOR_HELPER, VOLUME_HELPER } from "./helper-command.ts";

// Without a listener this signal opens Node's debugger on a port of the machine, and whoever reaches it is root.
process.on("SIGUSR1", () => {});

if (process.argv[2] === VOLUME_HELPER) {
  const { runVolumeHelper } = await import("../wire/mounts/helper/volume-helper.ts");
  await runVolumeHelper(process.stdin);
} else if (process.argv[2] === DOCTOR_HELPER) {
  const { runDoctorHelper } = await import("./run-doctor-helper.ts");
  await runDoctorHelper(process.argv.slice(3));
} else {
  const { runMain } = await import("./run-main.ts");
  // Whatever a command waited for has ended or was given up. A look-up that no name server answers would hold the process for ten seconds.
  process.exit(await runMain());
}
