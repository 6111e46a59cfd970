/** A container's last words: the file it may write them to, or the end of its log. */
import { firstBytes, lastBytes } from "../../base/cut-text.ts";

export const MESSAGE_BYTES_MAX = 4096;
const LOG_BYTES_MAX = 2048;
const LOG_LINES_MAX = 80;
/** All containers of a pod share this. */
const POD_MESSAGE_BYTES_MAX = 12 * 1024;

/** Whether the log stands in for an empty file. */
export const fallsBackToLog = (policy: string, exitCode: number, message: string): boolean =>
  policy === "FallbackToLogsOnError" && exitCode !== 0 && message === "";

/** How much of the log's file is worth reading: each kept line carries a stamp of its own. */
export const LOG_TAIL_BYTES = LOG_BYTES_MAX + LOG_LINES_MAX * 128;

/** The last lines of a log in the runtime's format, without their stamps. `whole`: the tail begins at the log's beginning. */
export function messageFromLog(tail: string, whole: boolean): string {
  const lines = tail.split("\n");
  if (!whole) lines.shift(); // Cut in the middle.
  if (lines.at(-1) === "") lines.pop();
  const texts = lines.slice(-LOG_LINES_MAX).map(logText);
  return lastBytes(texts.join(""), LOG_BYTES_MAX);
}

/** `2026-01-01T00:00:00.000000000Z stdout F text` → the text, with its line end unless it is a part of a longer line. */
function logText(line: string): string {
  const match = /^\S+ (?:stdout|stderr) (?<tag>[FP])(?::\S*)? (?<text>.*)$/s.exec(line);
  if (match?.groups === undefined) return `${line}\n`;
  return match.groups["tag"] === "P" ? (match.groups["text"] ?? "") : `${match.groups["text"] ?? ""}\n`;
}

/** Cut so that all containers of a pod together stay within their share. */
export function sharedMessage(message: string, containers: number): string {
  const share = Math.floor(POD_MESSAGE_BYTES_MAX / Math.max(1, containers));
  return firstBytes(message, share);
}
