/** Which failures the client itself retries: only those that certainly had no effect. */
import { ApiError, ApiUnreachableError } from "../../ports/api-error.ts";

/**
 * The connection took the request, but the server never processed it: it was refused, or sent after the server's
 * GOAWAY.
 */
export class UnseenRequestError extends ApiUnreachableError {
  constructor(operation: string, cause: Error) {
    super(operation, cause.message, false, { cause });
  }
}

/**
 * The wait before the next attempt; undefined: report the failure to the caller. `fraction` is random, from 0 up to 1.
 */
export function retryWaitMs(error: unknown, fraction: number): number | undefined {
  if (error instanceof UnseenRequestError) return 0;
  if (!(error instanceof ApiError) || error.retryAfterMs === undefined) return undefined;
  if (error.status !== 429 && error.status !== 503) return undefined;
  // Never earlier than the server requested, and not all clients at once.
  return error.retryAfterMs * (1 + fraction / 4);
}
