/**
 * Tells a refusal that comes too early from one that stays. The API server lets a node at what a pod names when it has itself heard of that pod,
 * which may be a moment after the node has. One for each thing that is asked for.
 */
import { ApiError } from "../../ports/api-error.ts";

const REFUSALS_MAX = 4;
export const REFUSED_WAIT_MS = 100;

export class EarlyRefusals {
  #left = REFUSALS_MAX;

  /** True: ask again after `REFUSED_WAIT_MS`. */
  isOne(error: unknown): boolean {
    if (!(error instanceof ApiError) || error.status !== 403 || this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}
