/** gRPC status names as Go spells them: users of the Go kubelet search for these, and traces contain them. */

/** Indexed by status code. */
const NAMES = [
  "OK",
  "Canceled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
] as const;

export const grpcStatusName = (code: number): string => NAMES[code] ?? `Code(${code})`;

/** Formats a gRPC error as Go does. */
export const grpcErrorText = (name: string, detail: string): string => `rpc error: code = ${name} desc = ${detail}`;

/** The same for one of our status codes, such as "deadlineExceeded". */
export const rpcErrorText = (code: string, detail: string): string =>
  grpcErrorText(code === "cancelled" ? "Canceled" : `${code.charAt(0).toUpperCase()}${code.slice(1)}`, detail);
