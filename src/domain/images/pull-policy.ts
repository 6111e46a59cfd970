/**
 * When an image is pulled: the default pull policy, whether to use the image that is on the node, and how long a pod
 * waits after a failed pull.
 */

import { doublingMs } from "../../base/backoff.ts";
import { parseImageName } from "./image-name.ts";

/** The default pull policy of an image. The tag "latest" may have moved, also if it is only implied. */
export function defaultImagePullPolicy(image: string): "Always" | "IfNotPresent" {
  const parsed = parseImageName(image);
  if (parsed.kind === "invalid") return "IfNotPresent";
  const { tag, digest } = parsed.name;
  return tag === "latest" || (tag === undefined && digest === undefined) ? "Always" : "IfNotPresent";
}

/** Whether to use the image that is on the node, to pull it, or to refuse it. */
export type PullDecision = "use" | "pull" | "refuse";

/** Under "Always", an image on the node does not count and is not looked up. */
export const asksNode = (policy: string): boolean => policy !== "Always";

export function decidePull(policy: string, isPresent: boolean): PullDecision {
  if (!asksNode(policy)) return "pull";
  if (isPresent) return "use";
  return policy === "Never" ? "refuse" : "pull";
}

/**
 * How long a pod waits before it pulls an image again after a failed pull: 10 s, doubled with each failure up to 5
 * minutes. A success in between does not reset the delay; ten minutes without a failure do.
 */
export interface PullBackoff {
  readonly delayMs: number;
  readonly failedMonotonicMs: number;
}

const CURVE = { firstMs: 10_000, maxMs: 300_000 };
const FORGET_MS = 2 * CURVE.maxMs;

export function afterFailedPull(before: PullBackoff | undefined, nowMonotonicMs: number): PullBackoff {
  const isFirst = before === undefined || isForgotten(before, nowMonotonicMs);
  const delayMs = isFirst ? CURVE.firstMs : Math.min(before.delayMs * 2, CURVE.maxMs);
  return { delayMs, failedMonotonicMs: nowMonotonicMs };
}

/** The delay after this many failures in a row. */
export const pullDelayMs = (failures: number): number => doublingMs(CURVE, failures);

/** 0: pull now. */
export const pullBackoffLeftMs = (backoff: PullBackoff, nowMonotonicMs: number): number =>
  Math.max(0, backoff.failedMonotonicMs + backoff.delayMs - nowMonotonicMs);

const isForgotten = ({ failedMonotonicMs }: PullBackoff, nowMonotonicMs: number) =>
  nowMonotonicMs - failedMonotonicMs > FORGET_MS;
