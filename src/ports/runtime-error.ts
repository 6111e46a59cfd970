/**
 * How a runtime refuses or fails. `code` is what callers branch on; the message is for people.
 *
 * "unavailable", "deadlineExceeded" and "cancelled" leave open whether the call took effect: look before trying again.
 * An abort by the caller is not one of these: the call rejects with the signal's reason.
 */
import { errorText } from "../base/error-text.ts";
import { rpcErrorText } from "../base/grpc-status.ts";

export type RuntimeErrorCode =
  | "cancelled"
  | "unknown"
  | "invalidArgument"
  | "deadlineExceeded"
  | "notFound"
  | "alreadyExists"
  | "permissionDenied"
  | "resourceExhausted"
  | "failedPrecondition"
  | "aborted"
  | "outOfRange"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "dataLoss"
  | "unauthenticated";

export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
  readonly code: RuntimeErrorCode;
  /** What was asked for, such as "CreateContainer". */
  readonly operation: string;
  /** In the runtime's own words. */
  readonly detail: string;
  constructor(operation: string, code: RuntimeErrorCode, detail: string, options?: ErrorOptions) {
    super(`${operation}: ${detail}`, options);
    this.operation = operation;
    this.detail = detail;
    this.code = code;
  }
}

/** As Go prints an error of gRPC, which is what users of the Go kubelet read and search for; any other as it is. */
export function rpcText(error: unknown): string {
  return error instanceof RuntimeError ? rpcErrorText(error.code, error.detail) : errorText(error);
}

/**
 * Whether what was to be made has a name that is taken, by something that can be seen or by nothing: containerd says failedPrecondition, others
 * only say it in words.
 */
export const isNameTaken = (error: unknown): boolean =>
  isRuntimeError(error, "failedPrecondition", "alreadyExists") ||
  (isRuntimeError(error) && /reserved/.test(error.message));

export function isRuntimeError(error: unknown, ...codes: readonly RuntimeErrorCode[]): error is RuntimeError {
  return error instanceof RuntimeError && (codes.length === 0 || codes.includes(error.code));
}
