/**
 * Doctor looks from a process of its own. Whoever looks at a file on a disk that does not answer loses a thread to it, and no process ends before its
 * threads do. So the looking process has threads to spare, each look has a limit of its own, and once it has said everything it is left to its fate.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { errorText } from "../../base/error-text.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import { finding } from "../../domain/doctor/finding.ts";
import type { HelperCommand } from "../../wire/mounts/helper-process.ts";
import type { CommandIo } from "../commands/io.ts";
import { inFormat, takeOutput } from "./output.ts";

/** What it says, in one line of JSON. */
export interface DoctorAnswer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** More than there are looks that could be stuck. */
const THREADS = 64;
/** All looks together, each at its own limit, take less. What takes longer has no limit of its own: the agent's files that are read at one go. */
const ANSWER_MS_MAX = 180_000;

/** The exit code. */
export async function doctorApart(
  args: readonly string[],
  io: Pick<CommandIo, "clock" | "stdout" | "stderr">,
  { file, args: first }: HelperCommand,
): Promise<number> {
  const child = spawn(file, [...first, ...args], {
    // Streams of ours would stay open as long as it lives.
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, UV_THREADPOOL_SIZE: String(THREADS) },
  });
  const never = new AbortController().signal;
  try {
    const line = await withDeadline(io.clock, ANSWER_MS_MAX, never, (limited) => unlessAborted(lineOf(child), limited));
    return say(JSON.parse(line) as DoctorAnswer, io);
  } catch (error) {
    return say(silence(args, errorText(error)), io);
  } finally {
    child.kill("SIGKILL");
    child.unref();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Rejects when it ends without one. */
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

function say({ exitCode, stdout, stderr }: DoctorAnswer, io: Pick<CommandIo, "stdout" | "stderr">): number {
  if (stdout !== "") io.stdout(stdout);
  if (stderr !== "") io.stderr(stderr);
  return exitCode;
}

function silence(args: readonly string[], why: string): DoctorAnswer {
  const { output } = takeOutput(args);
  return { ...inFormat([finding("could-not-look", `this host: ${why}`)], output), stderr: "" };
}
