/** Restores what a previous kubelet process knew of the pod from its journaled facts into a new state. */
import { isFinishedForGood, type UidFacts } from "../../domain/journal/facts.ts";
import { causeFromText } from "../../domain/pod/pod-lifecycle.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PodState } from "./pod-state.ts";

export function recall(state: PodState, facts: UidFacts | undefined, isStatic: boolean, clock: Clock): void {
  if (facts === undefined || (facts.finishedWallMs !== undefined && !isFinishedForGood(facts, isStatic))) return;
  for (const [name, exits] of facts.exits) {
    const last = exits.at(-1);
    if (last === undefined) continue;
    const { containerId, exitCode, reason, restartCount } = last;
    const [startedWallNs, finishedWallNs] = [BigInt(last.startedWallNs), BigInt(last.finishedWallNs)];
    const wasReset = facts.resets.has(containerId);
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
  for (const { what, delayMs, wallMs } of facts.restarts.values()) {
    state.containers.backoffs.set(what, { delayMs, decidedWallMs: wallMs });
  }
  state.resize.allocatedBefore = facts.allocated;
  for (const [name, id] of facts.restartsForResize) state.resize.restarts.set(name, id);
  for (const id of facts.postStartDue) state.containers.postStartDue.add(id);
  for (const id of facts.preStopDone) state.termination.preStopDone.add(id);
  const { terminating, finishedWallMs, ending } = facts;
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
