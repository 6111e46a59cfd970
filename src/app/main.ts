/** The program: by which name it was called, with what, and the exit code of what that did. */
import { basename } from "node:path";
import { isSea } from "node:sea";
import { hostClock } from "../wire/host/clock.ts";
import { runProgram } from "./commands/program.ts";
import { readMachine } from "./options/machine-facts.ts";
import { runKubelet } from "./run-kubelet.ts";

/** A single executable has its own name first; a script is called by the path of the file, links as they were written. */
const called = isSea() ? process.argv0 : (process.argv[1] ?? "deckhand");

process.exitCode = await runProgram(
  { name: basename(called), args: process.argv.slice(2) },
  {
    clock: hostClock,
    pid: process.pid,
    machine: readMachine,
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
  },
  runKubelet,
);
