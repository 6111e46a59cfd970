/** How an informer goes on after a failure. */
import { ApiError, ApiUnreachableError, isExpired } from "../ports/api-error.ts";

export interface Recovery {
  /** Where to go on: from the last version seen, or from a new list. */
  readonly from: "version" | "list";
  /** Whether the first such failure in a row needs no pause. */
  readonly atOnce: boolean;
}

/** So many tries from one version that brought nothing, and the version itself is suspect. */
const BARREN_RESUMES_MAX = 3;

/** `barrenResumes` counts the watches in a row that started from a version and broke before their first event. */
export function afterFailure(failure: unknown, barrenResumes: number): Recovery {
  if (isExpired(failure)) return { from: "list", atOnce: true };
  if (failure instanceof ApiUnreachableError) {
    // While there is no connection at all, nothing speaks against the version.
    if (!failure.mayHaveHappened || barrenResumes < BARREN_RESUMES_MAX) return { from: "version", atOnce: false };
    return { from: "list", atOnce: false };
  }
  if (failure instanceof ApiError && isOverload(failure.status)) return { from: "version", atOnce: false };
  // Among these: 504 for a version the server has not reached, after it was restored from an older state.
  return { from: "list", atOnce: false };
}

const isOverload = (status: number) => status === 429 || status === 500 || status === 502 || status === 503;
