import { boundedText } from "../../base/cut-text.ts";
import { WAITING_MESSAGE_BYTES_MAX } from "../../domain/limits.ts";

/** Inspect the runtime and retry soon. */
export const NAME_TAKEN_RETRY_MS = 1_000;

/** The sandbox was not requested from the runtime: no creation can be in flight, and a retry may succeed at once. */
export class SandboxNotRequested extends Error {
  override readonly name = "SandboxNotRequested";
}

/** A container could not be started; `reason` appears in its status. Retrying earlier than `retryMs` is useless. */
export class StartFailure extends Error {
  override readonly name = "StartFailure";
  readonly reason: string;
  readonly retryMs: number | undefined;
  constructor(reason: string, message: string, retryMs?: number) {
    super(boundedText(message, WAITING_MESSAGE_BYTES_MAX));
    this.reason = reason;
    this.retryMs = retryMs;
  }
}
