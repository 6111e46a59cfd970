/**
 * Allocates what the containers of a pod have for themselves: between the decision to admit a pod and its publication, by an ordered list of allocators.
 * A kind of resource that is added is one allocator in that list. What pods have is in `admittedPods`: every pod that an earlier agent allocated, and
 * every pod before this one, is published there before the next call. What the journal says of a pod that no source has named yet is in use too.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import { errorText } from "../../base/error-text.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import type { Deferral, Rejection, Verdict } from "../../domain/admission/verdict.ts";
import type { PodAllocation } from "../../domain/allocation/pod-allocation.ts";
import type { UidFacts } from "../../domain/journal/facts.ts";
import { keyOf } from "../../domain/pod/pod-identity.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { Log } from "../../ports/log.ts";

export type AllocationOutcome =
  | { readonly kind: "allocated"; readonly allocation: PodAllocation }
  | { readonly kind: "rejected"; readonly rejection: Rejection }
  /** The pod is allocated again at the next turn of the loop. */
  | { readonly kind: "deferred"; readonly deferral: Deferral };

export interface PodAllocator {
  /** For the log. */
  readonly name: string;
  /**
   * Answers with `soFar` and what it adds. A pod for which it answers anything but "allocated" holds nothing of it. A call that leaves the process has a
   * deadline: the next pod waits for the answer.
   */
  allocate(pod: Pod, soFar: PodAllocation, signal: AbortSignal): Promise<AllocationOutcome>;
  /** The pod has ended. Called once for each pod that it allocated, and for each whose allocation an earlier agent wrote to the journal. */
  release(uid: string): void;
}

export interface AllocationParts {
  /** In the order in which they are called. */
  readonly allocators: readonly PodAllocator[];
  readonly facts: ReadonlyMap<string, UidFacts>;
  readonly log: Log;
}

export class AllocationStage {
  readonly #parts: AllocationParts;
  /** UIDs whose allocation is to be released. */
  readonly #held: Set<string>;

  constructor(parts: AllocationParts) {
    this.#parts = parts;
    this.#held = new Set(parts.allocators.length === 0 ? [] : heldBefore(parts.facts));
  }

  get isEmpty(): boolean {
    return this.#parts.allocators.length === 0;
  }

  has(uid: string): boolean {
    return this.#held.has(uid);
  }

  /** Rejects with the signal's reason when it aborts: then there is no verdict. */
  async allocate(pod: Pod, given: PodAllocation, signal: AbortSignal): Promise<Verdict> {
    const { uid } = podNameOfObject(pod);
    let allocation = given;
    const done: PodAllocator[] = [];
    for (const allocator of this.#parts.allocators) {
      const outcome = await this.#call(allocator, pod, allocation, signal);
      switch (outcome.kind) {
        case "allocated":
          ({ allocation } = outcome);
          done.push(allocator);
          break;
        case "rejected":
        case "deferred":
          for (const earlier of done.toReversed()) earlier.release(uid);
          return outcome;
        default:
          return assertNever(outcome);
      }
    }
    this.#held.add(uid);
    return { kind: "admitted", allocation };
  }

  /** Once for each allocation. */
  release(uid: string): void {
    if (!this.#held.delete(uid)) return;
    for (const allocator of this.#parts.allocators.toReversed()) allocator.release(uid);
  }

  /** Answers with those it released. */
  releaseWhere(isFree: (uid: string) => boolean): readonly string[] {
    const released = [...this.#held].filter(isFree);
    for (const uid of released) this.release(uid);
    return released;
  }

  async #call(
    allocator: PodAllocator,
    pod: Pod,
    soFar: PodAllocation,
    signal: AbortSignal,
  ): Promise<AllocationOutcome> {
    signal.throwIfAborted();
    try {
      return await unlessAborted(allocator.allocate(pod, soFar, signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      const { uid } = podNameOfObject(pod);
      const fields = { pod: keyOf(pod), podUID: uid, allocator: allocator.name };
      this.#parts.log.error("Failed to allocate resources to a pod", error, fields);
      const message = `Allocate failed due to ${errorText(error)}, which is unexpected`;
      return { kind: "rejected", rejection: { reason: "UnexpectedAdmissionError", message } };
    }
  }
}

/** Pods that an earlier agent allocated and that have not finished. */
const heldBefore = (facts: ReadonlyMap<string, UidFacts>): readonly string[] =>
  [...facts.values()].flatMap(({ uid, admission, allocated, finishedWallMs }) => {
    const isHeld = admission?.kind === "admitted" && allocated !== undefined && finishedWallMs === undefined;
    return isHeld ? [uid] : [];
  });
