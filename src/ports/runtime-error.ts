/**
 * Errors of the container runtime. Callers branch on `code`; the message is for people.
 *
 * After "unavailable", "deadlineExceeded" and "cancelled" the call may have taken effect: inspect the state before a
 * retry. An abort by the caller is not one of these: the call rejects with the signal's reason.
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
  /** The CRI call, such as "CreateContainer". */
  readonly operation: string;
  /** The runtime's message. */
  readonly detail: string;
  constructor(operation: string, code: RuntimeErrorCode, detail: string, options?: ErrorOptions) {
    super(`${operation}: ${detail}`, options);
    this.operation = operation;
    this.detail = detail;
    this.code = code;
  }
}

/**
 * Formats runtime errors as Go does, which is what users of the Go kubelet search for. Other errors keep their message.
 */
export function rpcText(error: unknown): string {
  return error instanceof RuntimeError ? rpcErrorText(error.code, error.detail) : errorText(error);
}

/**
 * Whether the name of the new object is taken, visibly or not. containerd returns failedPrecondition; other runtimes
 * say so only in the message.
 */
export const isNameTaken = (error: unknown): boolean =>
  isRuntimeError(error, "failedPrecondition", "alreadyExists") ||
  (isRuntimeError(error) && /reserved/.test(error.message));

export function isRuntimeError(error: unknown, ...codes: readonly RuntimeErrorCode[]): error is RuntimeError {
  return error instanceof RuntimeError && (codes.length === 0 || codes.includes(error.code));
}
