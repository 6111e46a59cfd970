/** Errors of the API server: it rejected a request, or did not answer. */

/** The server answered, with a status of 400 and above or an ERROR event of a watch. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /** The machine-readable reason, such as "NotFound" or "Conflict"; empty where the answer had none. */
  readonly reason: string;
  /** The server's message. */
  readonly detail: string;
  /** How long the server asks clients to wait before they retry. */
  readonly retryAfterMs: number | undefined;
  constructor(operation: string, status: number, reason: string, detail: string, retryAfterMs?: number) {
    super(`${operation}: ${detail} (${status}${reason === "" ? "" : ` ${reason}`})`);
    this.status = status;
    this.reason = reason;
    this.detail = detail;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No response. `mayHaveHappened` is false only if the request certainly did not reach the server. */
export class ApiUnreachableError extends Error {
  override readonly name = "ApiUnreachableError";
  readonly mayHaveHappened: boolean;
  constructor(operation: string, detail: string, mayHaveHappened: boolean, options?: ErrorOptions) {
    super(`${operation}: ${detail}`, options);
    this.mayHaveHappened = mayHaveHappened;
  }
}

export const isNotFound = (error: unknown) => error instanceof ApiError && error.status === 404;
export const isConflict = (error: unknown) =>
  error instanceof ApiError && error.status === 409 && error.reason !== "AlreadyExists";
export const isAlreadyExists = (error: unknown) =>
  error instanceof ApiError && error.status === 409 && error.reason === "AlreadyExists";
/** The requested resource version is no longer available: list again. */
export const isExpired = (error: unknown) =>
  error instanceof ApiError && (error.status === 410 || error.reason === "Expired" || error.reason === "Gone");
