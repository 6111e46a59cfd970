/** What went wrong on the wire, in the words of the Runtime port. */
import { RuntimeError, type RuntimeErrorCode } from "../../ports/runtime-error.ts";
import { RpcError } from "../grpc/rpc-channel.ts";
import { Malformed } from "./parse.ts";

/** In the order of gRPC's numbers; 0 is success and never an error. */
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
 * The error to throw for `error`. What is neither the wire's nor a malformed answer is a bug of ours and stays as it is. No cause
 * is kept: it could hold what the detail must not show.
 */
export function runtimeError(operation: string, error: unknown): unknown {
  if (error instanceof RpcError) return new RuntimeError(operation, CODES[error.code] ?? "unknown", error.message);
  if (error instanceof Malformed) return new RuntimeError(operation, "dataLoss", `malformed answer: ${error.message}`);
  return error;
}
