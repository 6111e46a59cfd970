/** Runs the command line of this process. */
import { basename } from "node:path";
import { isSea } from "node:sea";
import { hostClock } from "../wire/host/clock.ts";
import { createHostFiles } from "../wire/host/files.ts";
import { createMachine } from "../wire/proc-stats/machine.ts";
import { runProgram } from "./commands/program.ts";
import { readEmbeddedDoc } from "./embedded-docs.ts";
import { DOCTOR_HELPER, helperCommand } from "./helper-command.ts";
import { readMachine } from "./options/machine-facts.ts";

/** Returns the exit code. */
export function runMain(): Promise<number> {
  // argv0 is the name of a single executable; a script is called by the path of its file, with links unresolved.
  const called = isSea() ? process.argv0 : (process.argv[1] ?? "deckhand");
  return runProgram(
    { name: basename(called), args: process.argv.slice(2) },
    {
      clock: hostClock,
      pid: process.pid,
      machine: readMachine,
      isColored: process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === "",
      isInteractive: process.stderr.isTTY,
      stdout: writeOut,
      stderr: (text) => void process.stderr.write(text),
    },
    // The agent is most of the program: load it lazily, so that other commands need not wait for it.
    async (...args) => (await import("./run-kubelet.ts")).runKubelet(...args),
    {
      openOrphans: async (options) => (await import("./open-orphans.ts")).openOrphans(options),
      doctor: async (args, io) =>
        (await import("./doctor/run-in-child.ts")).doctorInChild(args, io, helperCommand(DOCTOR_HELPER)),
      explainPorts: { files: createHostFiles({ clock: hostClock }), machine: createMachine() },
      readEmbeddedDoc,
      askAgent: async (...args) => (await import("./ask-agent.ts")).askAgent(...args),
      runKubectl: async (args) => (await import("./run-kubectl.ts")).runKubectl(args),
    },
  );
}

let isStdoutGuarded = false;

function writeOut(text: string): void {
  if (!isStdoutGuarded) process.stdout.once("error", endQuietly);
  isStdoutGuarded = true;
  process.stdout.write(text);
}

/** A reader that stops reading (`| head`) is not an error. */
function endQuietly(error: Error): void {
  if (!("code" in error) || error.code !== "EPIPE") throw error;
}
