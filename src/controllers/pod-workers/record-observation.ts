/**
 * Records an observed pod state. Container exits are journaled before they are used, because they cannot be read again
 * after a container is removed. Their termination messages are read at the same time.
 */

import { TERMINATION_MESSAGE_PATH, TERMINATION_MESSAGE_POLICY } from "../../domain/container-config/cri-keys.ts";
import {
  fallsBackToLog,
  LOG_TAIL_BYTES,
  MESSAGE_BYTES_MAX,
  messageFromLog,
} from "../../domain/container-config/termination-message.ts";
import { withKnownExits } from "../../domain/pod/known-exits.ts";
import { hasEnded } from "../../domain/pod/pod-lifecycle.ts";
import {
  containerNameOf,
  emptyView,
  mayRun,
  newestOf,
  type PodContainer,
  type PodRuntimeView,
  restartCountOf,
} from "../../domain/pod/runtime-view.ts";
import { type HostFiles, isMissing } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { nameInJournal, type PodState } from "./pod-state.ts";
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

/**
 * The termination message of an exited container. Empty if there is none or if it cannot be read: the status is
 * published either way.
 */
async function terminationMessage(container: PodContainer, files: HostFiles, log: Log): Promise<string> {
  const path = container.annotations[TERMINATION_MESSAGE_PATH] ?? "";
  const mount = path === "" ? undefined : container.mounts.find(({ containerPath }) => containerPath === path);
  const decoder = new TextDecoder();
  try {
    const written = mount === undefined ? "" : decoder.decode(await files.readTail(mount.hostPath, MESSAGE_BYTES_MAX));
    const policy = container.annotations[TERMINATION_MESSAGE_POLICY] ?? "";
    if (!fallsBackToLog(policy, container.exitCode, written)) return written;
    const tail = await files.readTail(container.logPath, LOG_TAIL_BYTES);
    return messageFromLog(decoder.decode(tail), tail.length < LOG_TAIL_BYTES);
  } catch (error) {
    if (!isMissing(error))
      log.error("Failed to read a container's termination message", error, { containerID: container.id });
    return "";
  }
}
