import { boundedText } from "../../base/cut-text.ts";
import { WAITING_MESSAGE_BYTES_MAX } from "../../domain/limits.ts";

/** The runtime is looked at again, and asked again, soon. */
export const NAME_TAKEN_RETRY_MS = 1_000;

/** A sandbox was not even asked for: no call of it can be under way, and whatever it waits for may come at once. */
export class SandboxNotAsked extends Error {
  override readonly name = "SandboxNotAsked";
}

/** A container could not be started, with the reason its status shows. `retryMs`: no use in trying before. */
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
