/** Restores what a previous kubelet process knew of the pod from the journal into a new state. */
import { isFinishedForGood, type JournaledPod } from "../../domain/journal/journaled-pod.ts";
import { causeFromText } from "../../domain/pod/pod-lifecycle.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PodState } from "./pod-state.ts";

export function restoreFromJournal(
  state: PodState,
  journaledPod: JournaledPod | undefined,
  isStatic: boolean,
  clock: Clock,
): void {
  if (
    journaledPod === undefined ||
    (journaledPod.finishedWallMs !== undefined && !isFinishedForGood(journaledPod, isStatic))
  )
    return;
  for (const [name, exits] of journaledPod.exits) {
    const last = exits.at(-1);
    if (last === undefined) continue;
    const { containerId, exitCode, reason, restartCount } = last;
    const [startedWallNs, finishedWallNs] = [BigInt(last.startedWallNs), BigInt(last.finishedWallNs)];
    const wasReset = journaledPod.resets.has(containerId);
    state.containers.knownExits.set(name, {
      containerId,
      exitCode,
      reason,
      restartCount,
      startedWallNs,
      finishedWallNs,
      wasReset,
    });
  }
  for (const { what, delayMs, wallMs } of journaledPod.restarts.values()) {
    state.containers.backoffs.set(what, { delayMs, decidedWallMs: wallMs });
  }
  state.resize.allocatedBefore = journaledPod.allocated;
  for (const [name, id] of journaledPod.restartsForResize) state.resize.restarts.set(name, id);
  for (const id of journaledPod.postStartDue) state.containers.postStartDue.add(id);
  for (const id of journaledPod.preStopDone) state.termination.preStopDone.add(id);
  const { terminating, finishedWallMs, ending } = journaledPod;
  if (ending?.state === "failed")
    state.termination.tries.set(ending.step, { attempts: ending.attempts, error: ending.error });
  if (finishedWallMs !== undefined) {
    state.lifecycle = { kind: "finished", why: causeFromText(terminating?.why ?? "") };
  } else if (terminating !== undefined) {
    // The grace period continued while no kubelet ran; a wall clock that was set back does not extend it.
    const { graceSeconds, graceSinceWallMs, why } = terminating;
    const goneMs = Math.min(Math.max(0, clock.wallMs() - graceSinceWallMs), graceSeconds * 1000);
    const sinceMonotonicMs = clock.monotonicMs() - goneMs;
    state.lifecycle = { kind: "terminating", graceSeconds, sinceMonotonicMs, why: causeFromText(why) };
  }
}
