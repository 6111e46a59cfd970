/** Prints what a run says, and its progress. */
import type { ProgressOutput } from "./run-watch.ts";

const TELL_EVERY_MS = 30_000;

/** On a terminal, progress is in the last line; elsewhere a progress line is printed at most every 30 s. */
export function printer(): ProgressOutput {
  const { stdout } = process;
  let [reportedMs, shown] = [0, ""];
  const clear = stdout.isTTY ? "\r\u001b[2K" : "";
  return {
    say: (line: string) => {
      stdout.write(`${clear}${line}\n`);
    },
    sayProgress: (line: string) => {
      if (stdout.isTTY) stdout.write(`${clear}${line.slice(0, stdout.columns - 1)}`);
      else if (line !== shown && performance.now() - reportedMs > TELL_EVERY_MS) {
        stdout.write(`${line}\n`);
        [reportedMs, shown] = [performance.now(), line];
      }
    },
  };
}
