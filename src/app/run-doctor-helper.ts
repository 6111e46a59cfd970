/** The process that looks for `deckhand doctor`, and says everything in one line: see doctor/apart.ts. */
import { hostClock } from "../wire/host/clock.ts";
import { doctorCommand } from "./commands/doctor.ts";
import type { DoctorAnswer } from "./doctor/apart.ts";
import { openDoctor } from "./open-doctor.ts";
import { readMachine } from "./options/machine-facts.ts";

export async function runDoctorHelper(args: readonly string[]): Promise<void> {
  const said = { stdout: "", stderr: "" };
  const io = {
    clock: hostClock,
    pid: process.pid,
    machine: readMachine,
    stdout: (text: string) => void (said.stdout += text),
    stderr: (text: string) => void (said.stderr += text),
  };
  const exitCode = await doctorCommand(args, io, openDoctor);
  const answer: DoctorAnswer = { exitCode, ...said };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
