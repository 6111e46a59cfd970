/**
 * Publishes in `terminationSteps` which termination step a pod is at, how often it was attempted and why it failed.
 * Readers see the step even while it hangs.
 */
import { errorText } from "../../base/error-text.ts";
import type { LatestTable } from "../../concurrency/latest-table.ts";
import {
  endRetryMs,
  TERMINATION_STEPS,
  type TerminationReport,
  type TerminationStepName,
} from "../../domain/pod/ending.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { nameInJournal, type PodState } from "./pod-state.ts";

export interface TerminationStepsPorts {
  readonly clock: Clock;
  readonly random: Random;
}

export class TerminationSteps {
  readonly #ports: TerminationStepsPorts;
  readonly #terminationSteps: LatestTable<string, TerminationReport>;

  constructor(ports: TerminationStepsPorts, terminationSteps: LatestTable<string, TerminationReport>) {
    this.#ports = ports;
    this.#terminationSteps = terminationSteps;
  }

  /** A retry that passes earlier steps does not replace a later step that has failed. */
  begin(state: PodState, step: TerminationStepName): void {
    const tries = state.termination.tries.get(step);
    state.termination.tries.set(step, { attempts: (tries?.attempts ?? 0) + 1, error: tries?.error });
    const reported = this.#terminationSteps.get(state.uid)?.step;
    if (
      reported === undefined ||
      TERMINATION_STEPS.indexOf(reported) <= TERMINATION_STEPS.indexOf(step) ||
      !this.#hasFailed(state, reported)
    )
      this.#publish(state, step, undefined);
  }

  async within<T>(state: PodState, step: TerminationStepName, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    this.begin(state, step);
    return this.#noting(state, step, 0, signal, act);
  }

  /** For work that belongs to a step but does not begin it: counts as an attempt only if it fails. */
  failing<T>(state: PodState, step: TerminationStepName, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    return this.#noting(state, step, 1, signal, act);
  }

  async #noting<T>(
    state: PodState,
    step: TerminationStepName,
    counted: 0 | 1,
    signal: AbortSignal,
    act: () => Promise<T>,
  ): Promise<T> {
    const note = (error: string | undefined) => {
      const attempts = state.termination.tries.get(step)?.attempts ?? 0;
      state.termination.tries.set(step, { attempts: error === undefined ? attempts : attempts + counted, error });
    };
    try {
      const answer = await act();
      note(undefined);
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      note(errorText(error));
      throw new TerminationStepFailure(step, error);
    }
  }

  /** Returns the delay until the retry, and whether the failed step or its error is new. */
  failed(state: PodState, { step }: TerminationStepFailure): { readonly againMs: number; readonly isNew: boolean } {
    const { attempts, error } = state.termination.tries.get(step) ?? { attempts: 1, error: undefined };
    const { clock, random } = this.#ports;
    const againMs = endRetryMs(attempts) * (1 + random.fraction() / 2);
    const reported = this.#terminationSteps.get(state.uid);
    this.#publish(state, step, clock.monotonicMs() + againMs);
    return { againMs, isNew: reported?.step !== step || reported.error !== error };
  }

  forget(uid: string): void {
    this.#terminationSteps.delete(uid);
  }

  #hasFailed(state: PodState, step: TerminationStepName): boolean {
    return state.termination.tries.get(step)?.error !== undefined;
  }

  #publish(state: PodState, step: TerminationStepName, nextTryMonotonicMs: number | undefined): void {
    const { lifecycle } = state;
    if (lifecycle.kind === "terminating")
      state.termination.graceEndsMonotonicMs = lifecycle.sinceMonotonicMs + lifecycle.graceSeconds * 1000;
    // A pod that a previous kubelet process terminated has had its grace period.
    state.termination.graceEndsMonotonicMs ??= this.#ports.clock.monotonicMs();
    const { attempts, error } = state.termination.tries.get(step) ?? { attempts: 1, error: undefined };
    const graceEndsMonotonicMs = state.termination.graceEndsMonotonicMs;
    const pod = nameInJournal(state, undefined);
    this.#terminationSteps.set(state.uid, { pod, step, attempts, error, nextTryMonotonicMs, graceEndsMonotonicMs });
  }
}

/** A termination step failed. */
export class TerminationStepFailure extends Error {
  override readonly name = "TerminationStepFailure";
  readonly step: TerminationStepName;
  constructor(step: TerminationStepName, cause: unknown) {
    super(errorText(cause), { cause });
    this.step = step;
  }
}
