/**
 * Runs doctor's checks in a child process. A check of a file on an unresponsive disk blocks a thread, and a process
 * does not end before its threads do. The child therefore has spare threads, and each check has its own time limit.
 * Once the child has reported, the parent kills it and does not wait for its end.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { errorText } from "../../base/error-text.ts";
import { raceAbort } from "../../concurrency/abort.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import { finding } from "../../domain/doctor/finding.ts";
import type { HelperCommand } from "../../wire/mounts/helper-process.ts";
import type { CommandIo } from "../commands/io.ts";
import { inFormat, takeDoctorFlags } from "./output.ts";

/** The child's report: one line of JSON. */
export interface DoctorAnswer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Tells the child, whose stdout is a pipe, whether the parent's stdout shows colors. */
export const COLORED = "DECKHAND_DOCTOR_COLORED";

/** More than the number of checks that could hang. */
const THREADS = 64;
/**
 * All checks together take less, even if each reaches its limit. Only the agent's files that are read synchronously
 * have no limit and can take longer.
 */
const ANSWER_MS_MAX = 180_000;

/** Returns the exit code. */
export async function doctorInChild(
  args: readonly string[],
  io: Pick<CommandIo, "clock" | "isColored" | "stdout" | "stderr">,
  { file, args: first }: HelperCommand,
): Promise<number> {
  const child = spawn(file, [...first, ...args], {
    // Inherited streams would stay open as long as the child lives.
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, UV_THREADPOOL_SIZE: String(THREADS), [COLORED]: io.isColored ? "1" : "0" },
  });
  const never = new AbortController().signal;
  try {
    const line = await withDeadline(io.clock, ANSWER_MS_MAX, never, (limited) => raceAbort(lineOf(child), limited));
    return print(JSON.parse(line) as DoctorAnswer, io);
  } catch (error) {
    return print(failedReport(args, errorText(error), io.isColored), io);
  } finally {
    child.kill("SIGKILL");
    child.unref();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Rejects if the child ends without a line. */
function lineOf(child: ChildProcessByStdio<null, Readable, Readable>): Promise<string> {
  return new Promise((resolve, reject) => {
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint += text;
    });
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("error", reject);
    child.once("close", (code, signal) => reject(new Error(`it ended with ${signal ?? code}: ${complaint.trim()}`)));
  });
}

function print({ exitCode, stdout, stderr }: DoctorAnswer, io: Pick<CommandIo, "stdout" | "stderr">): number {
  if (stdout !== "") io.stdout(stdout);
  if (stderr !== "") io.stderr(stderr);
  return exitCode;
}

/** A doctor that checked nothing fails, whatever `--fail-on` says. */
function failedReport(args: readonly string[], why: string, isColored: boolean): DoctorAnswer {
  const flags = takeDoctorFlags(args);
  const own = { output: flags.kind === "flags" ? flags.own.output : "text", failOn: "warning" } as const;
  return { ...inFormat([finding("could-not-look", `this host: ${why}`)], own, isColored), stderr: "" };
}
