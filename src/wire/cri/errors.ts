/** Translates transport errors to errors of the Runtime port. */
import { RuntimeError, type RuntimeErrorCode } from "../../ports/runtime-error.ts";
import { RpcError } from "../grpc/rpc-channel.ts";
import { Malformed } from "./parse.ts";

/** Indexed by gRPC status code; 0 is success and never an error. */
const CODES: readonly RuntimeErrorCode[] = [
  "unknown",
  "cancelled",
  "unknown",
  "invalidArgument",
  "deadlineExceeded",
  "notFound",
  "alreadyExists",
  "permissionDenied",
  "resourceExhausted",
  "failedPrecondition",
  "aborted",
  "outOfRange",
  "unimplemented",
  "internal",
  "unavailable",
  "dataLoss",
  "unauthenticated",
];

/**
 * Returns the error to throw for `error`. Anything but a transport error or a malformed answer is a bug in our code and
 * is returned unchanged. The cause is dropped: it could contain what the detail must not show.
 */
export function runtimeError(operation: string, error: unknown): unknown {
  if (error instanceof RpcError) return new RuntimeError(operation, CODES[error.code] ?? "unknown", error.message);
  if (error instanceof Malformed) return new RuntimeError(operation, "dataLoss", `malformed answer: ${error.message}`);
  return error;
}
