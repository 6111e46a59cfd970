/** Decides how an informer continues after a failure. */
import { ApiError, ApiUnreachableError, isExpired } from "../ports/api-error.ts";

export interface Recovery {
  /** Where to continue: from the last resource version, or from a new list. */
  readonly from: "version" | "list";
  /** Whether the first such failure in a row is retried without a pause. */
  readonly atOnce: boolean;
}

/** After this many fruitless watches from one resource version, the version itself is suspect. */
const BARREN_RESUMES_MAX = 3;

/** `barrenResumes` counts consecutive watches that resumed from a version and broke before their first event. */
export function afterFailure(failure: unknown, barrenResumes: number): Recovery {
  if (isExpired(failure)) return { from: "list", atOnce: true };
  if (failure instanceof ApiUnreachableError) {
    // Without any connection, nothing indicates a problem with the version.
    if (!failure.mayHaveHappened || barrenResumes < BARREN_RESUMES_MAX) return { from: "version", atOnce: false };
    return { from: "list", atOnce: false };
  }
  if (failure instanceof ApiError && isOverload(failure.status)) return { from: "version", atOnce: false };
  // This includes 504 for a version that the server has not reached, for example after a restore from a backup.
  return { from: "list", atOnce: false };
}

const isOverload = (status: number) => status === 429 || status === 500 || status === 502 || status === 503;
