/** Ends the agent at its start because the host or the configuration must be corrected first, as in the Go kubelet. */
export class MisconfigurationError extends Error {
  override readonly name: string = "MisconfigurationError";
}
