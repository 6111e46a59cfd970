/** Which failures the client itself tries again. Only such that certainly had no effect. */
import { ApiError, ApiUnreachableError } from "../../ports/api-error.ts";

/** The connection took the request, but the server never looked at it: refused, or sent after its farewell. */
export class UnseenRequestError extends ApiUnreachableError {
  constructor(operation: string, cause: Error) {
    super(operation, cause.message, false, { cause });
  }
}

/** How long to wait before the next try; undefined: let the caller see the failure. `fraction` is chance, from 0 up to 1. */
export function retryWaitMs(error: unknown, fraction: number): number | undefined {
  if (error instanceof UnseenRequestError) return 0;
  if (!(error instanceof ApiError) || error.retryAfterMs === undefined) return undefined;
  if (error.status !== 429 && error.status !== 503) return undefined;
  // Never earlier than asked, and not everyone at once.
  return error.retryAfterMs * (1 + fraction / 4);
}
