/**
 * Runs mount(8), mkfs and the like, with an argument list and never through a shell. The agent decides whether a tool
 * takes too long: it kills the helper with everything it runs. For a tool that may take long, the helper reports when
 * the tool has used CPU time: a sign that it is not stuck.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostClock } from "../../host/clock.ts";
import { errnoOf } from "../../host/errno.ts";
import { TOOL_OUTPUT_CHARS_MAX } from "../../limits.ts";
import type { ToolResult } from "../tool-answers.ts";
import type { ToolCall } from "../tool-arguments.ts";

const LOOK_EVERY_MS = 1_000;

/** The stream by which the agent notices a tool that outlives the helper. */
const LIFELINE = 3;

export interface ToolOptions {
  /** Inherited as descriptor 3. */
  readonly descriptor?: number;
  /** For a tool that writes to a disk: the agent waits for its end even if the helper is killed. */
  readonly onAlive?: () => void;
}

export function runTool({ command, args }: ToolCall, { descriptor, onAlive }: ToolOptions = {}): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const extra = descriptor ?? (onAlive === undefined ? "ignore" : LIFELINE);
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe", extra] });
    const stopLooking = onAlive === undefined ? () => {} : watchProgress(child, onAlive);
    const texts = { stdout: "", output: "" };
    const collect = (chunk: string, isAnswer: boolean) => {
      if (isAnswer) texts.stdout = (texts.stdout + chunk).slice(0, TOOL_OUTPUT_CHARS_MAX);
      texts.output = (texts.output + chunk).slice(0, TOOL_OUTPUT_CHARS_MAX);
    };
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => collect(chunk, true));
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => collect(chunk, false));
    child.once("error", (error) => {
      stopLooking();
      if (errnoOf(error) === "ENOENT") resolve({ kind: "missing" });
      else reject(error);
    });
    child.once("exit", (code, signal) => {
      stopLooking();
      // Read the remaining output first, for a limited time: a server that the tool left behind may hold the streams
      // forever.
      const settle = () =>
        resolve(
          code === null ? { kind: "killed", signal: signal ?? "", ...texts } : { kind: "exited", code, ...texts },
        );
      const cancel = hostClock.after(LOOK_EVERY_MS, settle);
      child.once("close", () => {
        cancel();
        settle();
      });
    });
  });
}

function watchProgress({ pid }: ChildProcess, onAlive: () => void): () => void {
  if (pid === undefined) return () => {};
  let seen = 0;
  let cancel = () => {};
  const look = () => {
    const ticks = ticksOf(pid);
    if (ticks !== seen) onAlive();
    seen = ticks;
    cancel = hostClock.after(LOOK_EVERY_MS, look);
  };
  cancel = hostClock.after(LOOK_EVERY_MS, look);
  return () => cancel();
}

/** CPU ticks of a process and its children: fsck runs the checker of the file system type. */
function ticksOf(pid: number): number {
  try {
    // The process name, in parentheses, may contain anything.
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ");
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean);
    const own = Number(fields[11]) + Number(fields[12]);
    return children.reduce((sum, child) => sum + ticksOf(Number(child)), own);
  } catch {
    return 0; // It has ended.
  }
}
