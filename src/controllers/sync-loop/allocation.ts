/**
 * Allocates exclusive resources to the containers of a pod, with an ordered list of allocators. Allocation runs between
 * the decision to admit a pod and its publication; a new kind of resource needs one more allocator. Existing
 * allocations are in `admittedPods`: pods allocated by a previous kubelet process and all pods before this one are
 * published there before the next call. Allocations in the journal of pods that no source has named yet are also in
 * use.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import { errorText } from "../../base/error-text.ts";
import { raceAbort } from "../../concurrency/abort.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { Deferral, Rejection, Verdict } from "../../domain/admission/verdict.ts";
import type { PodAllocation } from "../../domain/allocation/pod-allocation.ts";
import type { JournaledPod } from "../../domain/journal/journaled-pod.ts";
import { keyOf } from "../../domain/pod/pod-identity.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { Log } from "../../ports/log.ts";

export type AllocationOutcome =
  | { readonly kind: "allocated"; readonly allocation: PodAllocation }
  | { readonly kind: "rejected"; readonly rejection: Rejection }
  /** The pod is allocated again in the next iteration of the loop. */
  | { readonly kind: "deferred"; readonly deferral: Deferral };

export interface PodAllocator {
  /** Name of the allocator in log lines. */
  readonly name: string;
  /**
   * A new version makes the loop allocate deferred pods again. Without this cell they wait for the next iteration, at
   * most a minute.
   */
  readonly awaited?: Latest<unknown>;
  /**
   * Returns `soFar` plus this allocator's part. If the result is not "allocated", the pod holds nothing from this
   * allocator. A call that leaves the process needs a deadline, because the next pod waits for the result.
   */
  allocate(pod: Pod, soFar: PodAllocation, signal: AbortSignal): Promise<AllocationOutcome>;
  /**
   * The pod has terminated. Called once for each pod that this allocator allocated, and for each pod whose allocation a
   * previous kubelet process journaled.
   */
  release(uid: string): void;
}

export interface AllocationParts {
  /** In the order in which they are called. */
  readonly allocators: readonly PodAllocator[];
  readonly journaledPods: ReadonlyMap<string, JournaledPod>;
  readonly log: Log;
}

export class AllocationStage {
  readonly #parts: AllocationParts;
  /** UIDs whose allocation is yet to be released. */
  readonly #held: Set<string>;

  constructor(parts: AllocationParts) {
    this.#parts = parts;
    this.#held = new Set(parts.allocators.length === 0 ? [] : heldBefore(parts.journaledPods));
  }

  get isEmpty(): boolean {
    return this.#parts.allocators.length === 0;
  }

  /** The cells that the allocators wait for. */
  get awaited(): readonly Latest<unknown>[] {
    return this.#parts.allocators.flatMap(({ awaited }) => (awaited === undefined ? [] : [awaited]));
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

  /** Releases each allocation once; further calls do nothing. */
  release(uid: string): void {
    if (!this.#held.delete(uid)) return;
    for (const allocator of this.#parts.allocators.toReversed()) allocator.release(uid);
  }

  /** Returns the UIDs that were released. */
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
      return await raceAbort(allocator.allocate(pod, soFar, signal), signal);
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

/** Pods that a previous kubelet process allocated and that have not finished. */
const heldBefore = (journaledPods: ReadonlyMap<string, JournaledPod>): readonly string[] =>
  [...journaledPods.values()].flatMap(({ uid, admission, allocated, finishedWallMs }) => {
    const isHeld = admission?.kind === "admitted" && allocated !== undefined && finishedWallMs === undefined;
    return isHeld ? [uid] : [];
  });
