/** How far the pull is that something of a pod waits for, and how it is told. */
import { formatGoDuration } from "../../base/duration.ts";
import { goQuote } from "../../base/go-text.ts";
import { type PullFailure, pullingText } from "./pull-messages.ts";

export type PullProgress =
  | UnderWay
  /** It is over, or a new try is due: who waits should ask. */
  | { readonly kind: "settled" };

export type UnderWay = {
  /** When it was asked for. */
  readonly sinceMonotonicMs: number;
  /** Of the try before. */
  readonly lastFailure: PullFailure | undefined;
} & (
  | { readonly kind: "pulling" }
  /** Others are before it; `position` counts from 1. */
  | { readonly kind: "queued"; readonly position: number }
);

/** What of a pod asks for an image: a container, or a volume. */
export const pullKey = (podUid: string, asker: string): string => `${podUid}/${asker}`;

export const podOfPull = (key: string): string => key.slice(0, key.indexOf("/"));

/** Most pulls are over before anybody would read how far they are; each telling is a request to the API server. */
const TOLD_AFTER_MS = 5_000;
const TOLD_EVERY_MS = 30_000;

/** Undefined while there is nothing to tell yet. Changes with the place in the queue, and else every 30 s. */
export function progressText(image: string, progress: UnderWay, nowMonotonicMs: number): string | undefined {
  const waitedMs = nowMonotonicMs - progress.sinceMonotonicMs;
  if (waitedMs < TOLD_AFTER_MS) return undefined;
  const steps = Math.floor(waitedMs / TOLD_EVERY_MS);
  const time = steps === 0 ? "" : ` for ${formatGoDuration(BigInt(steps * TOLD_EVERY_MS) * 1_000_000n)}`;
  if (progress.kind === "pulling") return `${pullingText(image)}${time}`;
  return `Image ${goQuote(image)} waits${time} to be pulled, number ${progress.position} in the queue`;
}

/** When the text may be another. */
export function nextTellingMs(progress: UnderWay, nowMonotonicMs: number): number {
  const waitedMs = nowMonotonicMs - progress.sinceMonotonicMs;
  return waitedMs < TOLD_AFTER_MS ? TOLD_AFTER_MS - waitedMs : TOLD_EVERY_MS - (waitedMs % TOLD_EVERY_MS);
}
