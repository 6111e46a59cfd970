/**
 * Distinguishes a rejection that comes too early from a lasting one. The API server authorizes a node's requests for a
 * pod's objects from its watch caches. These may learn of the pod a moment after the node. Use one instance per
 * requested object.
 */
import { ApiError } from "../../ports/api-error.ts";

const RETRIES_MAX = 4;
export const FORBIDDEN_RETRY_MS = 100;

/** NodeRestriction's response to a token request while its pod cache lacks the pod. */
const UNKNOWN_POD = /^pod "[^"]+" not found$/;

const isEarly = ({ status, detail }: ApiError): boolean =>
  status === 403 || (status === 404 && UNKNOWN_POD.test(detail));

export class ForbiddenRetry {
  #left = RETRIES_MAX;

  /** Returns true if the request should be repeated after `FORBIDDEN_RETRY_MS`. */
  shouldRetry(error: unknown): boolean {
    if (!(error instanceof ApiError) || !isEarly(error) || this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}
