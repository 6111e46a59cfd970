/** The progress of the pull that a container or a volume of a pod waits for, and its message. */
import { formatGoDuration } from "../../base/duration.ts";
import { goQuote } from "../../base/go-text.ts";
import { type PullFailure, pullingText } from "./pull-messages.ts";

export type PullProgress =
  | UnderWay
  /** The pull is done, or a retry is due: whatever waits for the image should request it again. */
  | { readonly kind: "settled" };

export type UnderWay = {
  /** When the pull was requested. */
  readonly sinceMonotonicMs: number;
  /** The failure of the previous attempt. */
  readonly lastFailure: PullFailure | undefined;
} & (
  | { readonly kind: "pulling" }
  /** Other pulls come first; `position` counts from 1. */
  | { readonly kind: "queued"; readonly position: number }
);

/** The key of a pull. `requester` is the container or the volume of the pod that requests the image. */
export const pullKey = (podUid: string, requester: string): string => `${podUid}/${requester}`;

export const podOfPull = (key: string): string => key.slice(0, key.indexOf("/"));

/** Most pulls finish before anyone would read their progress, and each update is a request to the API server. */
const FIRST_NOTE_MS = 5_000;
const NOTE_EVERY_MS = 30_000;

/** Undefined while there is nothing to report yet. Changes with the place in the queue, and otherwise every 30 s. */
export function progressText(image: string, progress: UnderWay, nowMonotonicMs: number): string | undefined {
  const waitedMs = nowMonotonicMs - progress.sinceMonotonicMs;
  if (waitedMs < FIRST_NOTE_MS) return undefined;
  const steps = Math.floor(waitedMs / NOTE_EVERY_MS);
  const time = steps === 0 ? "" : ` for ${formatGoDuration(BigInt(steps * NOTE_EVERY_MS) * 1_000_000n)}`;
  if (progress.kind === "pulling") return `${pullingText(image)}${time}`;
  return `Image ${goQuote(image)} waits${time} to be pulled, number ${progress.position} in the queue`;
}

/** The time until the text may change. */
export function nextNoteMs(progress: UnderWay, nowMonotonicMs: number): number {
  const waitedMs = nowMonotonicMs - progress.sinceMonotonicMs;
  return waitedMs < FIRST_NOTE_MS ? FIRST_NOTE_MS - waitedMs : NOTE_EVERY_MS - (waitedMs % NOTE_EVERY_MS);
}
