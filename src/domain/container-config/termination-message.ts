/** A container's termination message: from the file that the container may write, or from the end of its log. */
import { firstBytes, lastBytes } from "../../base/cut-text.ts";

export const MESSAGE_BYTES_MAX = 4096;
const LOG_BYTES_MAX = 2048;
const LOG_LINES_MAX = 80;
/** The limit for all containers of a pod together. */
const POD_MESSAGE_BYTES_MAX = 12 * 1024;

/** Whether the end of the log replaces an empty message. */
export const fallsBackToLog = (policy: string, exitCode: number, message: string): boolean =>
  policy === "FallbackToLogsOnError" && exitCode !== 0 && message === "";

/** How much of the end of the log file to read: each line that is kept has a prefix with a timestamp. */
export const LOG_TAIL_BYTES = LOG_BYTES_MAX + LOG_LINES_MAX * 128;

/**
 * The last lines of a log in the CRI format, without their prefixes. `whole`: the tail starts at the log's beginning.
 */
export function messageFromLog(tail: string, whole: boolean): string {
  const lines = tail.split("\n");
  if (!whole) lines.shift(); // Cut in the middle.
  if (lines.at(-1) === "") lines.pop();
  const texts = lines.slice(-LOG_LINES_MAX).map(logText);
  return lastBytes(texts.join(""), LOG_BYTES_MAX);
}

/** `2026-01-01T00:00:00.000000000Z stdout F text` → the text, with a newline unless the line is partial. */
function logText(line: string): string {
  const match = /^\S+ (?:stdout|stderr) (?<tag>[FP])(?::\S*)? (?<text>.*)$/s.exec(line);
  if (match?.groups === undefined) return `${line}\n`;
  return match.groups["tag"] === "P" ? (match.groups["text"] ?? "") : `${match.groups["text"] ?? ""}\n`;
}

/** Cuts the message so that all containers of a pod together stay within the limit. */
export function sharedMessage(message: string, containers: number): string {
  const share = Math.floor(POD_MESSAGE_BYTES_MAX / Math.max(1, containers));
  return firstBytes(message, share);
}
