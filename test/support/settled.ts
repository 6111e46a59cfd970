/** Reads values of a node that has not settled yet. */
import { isDeepStrictEqual } from "node:util";
import { pause } from "../cluster/wait.ts";
import { neutralJson } from "../golden/answers.ts";
import type { Recording } from "../golden/recording.ts";
import { matchLimitMs } from "../golden/selected-cases.ts";
import { comparisonMode } from "../golden/sides.ts";

const QUIET_MS = 3_000;
const LIMIT_MS = 30_000;
const EVERY_MS = 250;

/**
 * While recording, returns the reading that has stayed the same for some seconds. Otherwise returns the first reading
 * that the recording knows from the Go kubelet, or the last one when none matches in time. The comparison then shows
 * the difference.
 */
export async function settled<T>(recording: Recording, question: string, read: () => T | Promise<T>): Promise<T> {
  const untilMs = Date.now() + matchLimitMs(LIMIT_MS);
  let reading = await read();
  let sinceMs = Date.now();
  const isSettled = () =>
    comparisonMode === "record" ? Date.now() - sinceMs >= QUIET_MS : recording.matches(question, reading);
  while (!isSettled() && Date.now() < untilMs) {
    await pause(EVERY_MS);
    const next = await read();
    if (!isDeepStrictEqual(neutralJson(next), neutralJson(reading))) sinceMs = Date.now();
    reading = next;
  }
  return reading;
}
