/**
 * Emits events for failed pod syncs, with the Go kubelet's reasons and texts: the runtime does not report the pod's
 * status, or does not kill the pod. Every other failure appears only in the log and the journal.
 */
import { errorText } from "../../base/error-text.ts";
import { aggregate, goQuote } from "../../base/go-text.ts";
import { rpcText } from "../../ports/runtime-error.ts";
import { podEventEmitter } from "./event-emitter.ts";
import type { PodState } from "./pod-state.ts";
import { TerminationStepFailure } from "./termination-steps.ts";
import type { PodWorkerPorts, RuntimeCache } from "./worker-options.ts";

/**
 * The Go kubelet retries at this interval. Deckhand retries termination steps sooner and must not use up the pod's
 * event quota.
 */
const EVENT_INTERVAL_MS = 10_000;

/** The runtime did not report the status of a pod. */
class StatusError extends Error {
  override readonly name = "StatusError";
  constructor(cause: unknown) {
    super(errorText(cause), { cause });
  }
}

/** The runtime did not stop this container of a terminating pod or, if `container` is undefined, its sandbox. */
export class KillError extends Error {
  override readonly name = "KillError";
  readonly container: string | undefined;
  constructor(container: string | undefined, cause: unknown) {
    super(errorText(cause), { cause });
    this.container = container;
  }
}

/** The same inspections, which fail with a `StatusError`. */
export function withStatusErrors(cache: RuntimeCache): RuntimeCache {
  const asStatusError = (error: unknown) => {
    throw new StatusError(error);
  };
  return {
    cached: (uid) => cache.cached(uid),
    inspect: (uid, signal) => cache.inspect(uid, signal).catch(asStatusError),
    refresh: (uid, created, signal) => cache.refresh(uid, created, signal).catch(asStatusError),
    mutating: (uid) => cache.mutating(uid),
  };
}

/** Returns true if an event reports this failure, now or a few seconds ago. */
export function emitTurnFailure(
  state: PodState,
  error: unknown,
  ports: Pick<PodWorkerPorts, "clock" | "events">,
): boolean {
  const { pod } = state;
  const last = state.reports.failureEvent;
  const event = eventOf(state.uid, error instanceof TerminationStepFailure ? error.cause : error);
  if (pod === undefined || event === undefined) return false;
  const nowMs = ports.clock.monotonicMs();
  const isRepeated = last?.message === event.message && nowMs - last.emittedMonotonicMs < EVENT_INTERVAL_MS;
  if (isRepeated) return true;
  state.reports.failureEvent = { message: event.message, emittedMonotonicMs: nowMs };
  podEventEmitter(pod, ports)("Warning", event.reason, event.message);
  return true;
}

function eventOf(uid: string, error: unknown): { readonly reason: string; readonly message: string } | undefined {
  if (error instanceof StatusError) {
    return { reason: "FailedSync", message: `error determining status: ${rpcText(error.cause)}` };
  }
  const failures: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  const kills = failures.filter((failure) => failure instanceof KillError);
  if (kills.length === 0) return undefined;
  const message = `error killing pod: ${aggregate(kills.map((kill) => killText(uid, kill)))}`;
  return { reason: "FailedKillPod", message };
}

function killText(uid: string, { container, cause }: KillError): string {
  const what = container === undefined ? "KillPodSandbox" : "KillContainer";
  return `failed to "${what}" for ${goQuote(container ?? uid)} with ${what}Error: ${goQuote(rpcText(cause))}`;
}
