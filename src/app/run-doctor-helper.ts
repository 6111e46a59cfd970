/** The child process of `deckhand doctor`: runs all checks and reports them in one line. See doctor/run-in-child.ts. */
import { hostClock } from "../wire/host/clock.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { COLORED, type DoctorAnswer } from "./doctor/run-in-child.ts";
import { openDoctor } from "./open-doctor.ts";
import { readMachine } from "./options/machine-facts.ts";

export async function runDoctorHelper(args: readonly string[]): Promise<void> {
  const said = { stdout: "", stderr: "" };
  const io = {
    clock: hostClock,
    pid: process.pid,
    machine: readMachine,
    isColored: process.env[COLORED] === "1",
    isInteractive: false,
    stdout: (text: string) => void (said.stdout += text),
    stderr: (text: string) => void (said.stderr += text),
  };
  const exitCode = await doctorCommand(args, io, openDoctor);
  const answer: DoctorAnswer = { exitCode, ...said };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
