/**
 * Records an observed pod state. Container exits are journaled before they are used, because they cannot be read again
 * after a container is removed.
 */

import { withKnownExits } from "../../domain/pod/known-exits.ts";
import { hasEnded } from "../../domain/pod/pod-lifecycle.ts";
import {
  containerNameOf,
  emptyView,
  mayRun,
  newestOf,
  type PodRuntimeView,
  restartCountOf,
} from "../../domain/pod/runtime-view.ts";
import { nameInJournal, type PodState } from "./pod-state.ts";
import { terminationMessage } from "./termination-message.ts";
import type { PodWorkerPorts } from "./worker-options.ts";

export async function recordObservation(
  state: PodState,
  view: PodRuntimeView,
  { journal, clock, files, log }: Pick<PodWorkerPorts, "journal" | "clock" | "files" | "log">,
): Promise<void> {
  for (const container of view.containers) {
    if (container.state !== "exited" || state.containers.exitSeenMonotonicMs.has(container.id)) continue;
    const name = containerNameOf(container);
    const noted = journal.append({
      kind: "exited",
      uid: state.uid,
      pod: nameInJournal(state, view),
      wallMs: clock.wallMs(),
      container: name,
      containerId: container.id,
      exitCode: container.exitCode,
      reason: container.reason,
      startedWallNs: String(container.startedWallNs ?? 0n),
      finishedWallNs: String(container.finishedWallNs ?? 0n),
      restartCount: restartCountOf(container),
    });
    const message = terminationMessage(container, files, log);
    await noted;
    state.containers.messages.set(container.id, await message);
    state.containers.postStartDue.delete(container.id);
    state.termination.preStopDone.delete(container.id);
    state.termination.reportedStops.delete(container.id);
    state.containers.exitSeenMonotonicMs.set(container.id, clock.monotonicMs());
    state.containers.knownExits.set(name, {
      containerId: container.id,
      exitCode: container.exitCode,
      reason: container.reason,
      restartCount: restartCountOf(container),
      startedWallNs: container.startedWallNs ?? 0n,
      finishedWallNs: container.finishedWallNs ?? 0n,
    });
  }
  forgetGone(state, view);
  // The final state of a terminated pod is kept although its containers are removed.
  if (!hasEnded(state.lifecycle) || state.view === undefined)
    state.view = withKnownExits(merged(state, view), state.containers.knownExits);
}

/** Drops what is remembered of removed containers, and the waiting reason of running ones. */
function forgetGone(state: PodState, view: PodRuntimeView): void {
  if (state.lifecycle.kind !== "running") return;
  const listed = new Set(view.containers.map(({ id }) => id));
  for (const id of state.containers.exitSeenMonotonicMs.keys())
    if (!listed.has(id)) state.containers.exitSeenMonotonicMs.delete(id);
  for (const id of state.containers.messages.keys()) if (!listed.has(id)) state.containers.messages.delete(id);
  for (const name of state.containers.waiting.keys())
    if (newestOf(view, name)?.state === "running") state.containers.waiting.delete(name);
}

/** While a pod terminates, containers that are already removed from the runtime stay in its view. */
function merged(state: PodState, view: PodRuntimeView): PodRuntimeView {
  if (state.lifecycle.kind !== "terminating") return view;
  const listed = new Set(view.containers.map(({ id }) => id));
  const before = state.view ?? emptyView(state.uid);
  const gone = before.containers.filter((container) => !listed.has(container.id) && !mayRun(container));
  const sandboxes = view.sandboxes.length > 0 ? view.sandboxes : before.sandboxes;
  return { ...view, sandboxes, containers: [...view.containers, ...gone] };
}
