/** gRPC's statuses as Go spells them, which is what users of the Go kubelet read and search for, and what traces hold. */

/** By their numbers. */
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

/** As Go prints an error of gRPC. */
export const grpcErrorText = (name: string, detail: string): string => `rpc error: code = ${name} desc = ${detail}`;

/** The same for a status in our own words, such as "deadlineExceeded". */
export const rpcErrorText = (code: string, detail: string): string =>
  grpcErrorText(code === "cancelled" ? "Canceled" : `${code.charAt(0).toUpperCase()}${code.slice(1)}`, detail);
