/**
 * The program: dispatches on the name it was called by and its arguments, and sets the exit code. A helper process
 * loads only its own part, because each helper counts towards the agent's memory.
 */
import { DOCTOR_HELPER, VOLUME_HELPER } from "./helper-command.ts";

// Without a listener this signal opens Node's debugger on a port of the host, and whoever reaches that port is root.
process.on("SIGUSR1", () => {});

if (process.argv[2] === VOLUME_HELPER) {
  const { runVolumeHelper } = await import("../wire/mounts/helper/volume-helper.ts");
  await runVolumeHelper(process.stdin);
} else if (process.argv[2] === DOCTOR_HELPER) {
  const { runDoctorHelper } = await import("./run-doctor-helper.ts");
  await runDoctorHelper(process.argv.slice(3));
} else {
  const { runMain } = await import("./run-main.ts");
  // Everything the command waited for has ended or was abandoned. A DNS lookup that no name server answers would
  // otherwise keep the process alive for ten seconds.
  process.exit(await runMain());
}
