/**
 * Reclaim before eviction: while disk space is short, the eviction controller first requests that dead containers and
 * then unused images are removed. The owner of each target answers in its own cell. Requests are numbered in the order
 * in which they were made; a report answers all requests up to its number.
 */
export type ReclaimTarget = "containers" | "images";

export interface ReclaimRequests {
  /** The number of the last request for each target. 0: nothing was requested yet. */
  readonly containers: number;
  readonly images: number;
}

export const NO_RECLAIM_REQUESTS: ReclaimRequests = { containers: 0, images: 0 };

export interface ReclaimReport {
  /** The last request that this report answers. */
  readonly number: number;
  readonly freedBytes: bigint;
  /** What could not be removed; undefined if everything was. */
  readonly error: string | undefined;
}

export const NOTHING_RECLAIMED: ReclaimReport = { number: 0, freedBytes: 0n, error: undefined };
