/**
 * Removes dead containers and sandboxes together with their logs: at once when a pod has one too many or has
 * terminated, and for all pods every minute. Reads `podRuntimeStatus` and `podOutcomes`. Only the pod's worker decides
 * that a pod is finished, so no exit is removed before it is published.
 */

import { errorText } from "../../base/error-text.ts";
import { inSpan } from "../../concurrency/in-span.ts";
import { KeyedLoop } from "../../concurrency/keyed-loop.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import { pause } from "../../concurrency/sleep.ts";
import { nodeSubject } from "../../domain/events/recorded-event.ts";
import { type GcPlan, gcPlan } from "../../domain/housekeeping/container-gc.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { logLinkName } from "../../domain/pod/pod-names.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import { containerNameOf, type PodContainer, type PodRuntimeView, podNameOf } from "../../domain/pod/runtime-view.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import { type HostFiles, isMissing } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Tracer } from "../../ports/tracer.ts";

export interface ContainerGcOptions {
  readonly runtime: Pick<Runtime, "removeContainer" | "removeSandbox">;
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly tracer: Tracer;
  readonly log: Log;
  readonly events: EventSink;
  readonly nodeName: string;
  readonly podRuntimeStatus: ReadonlyTable<string, PodRuntimeView>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly sourcesReady: Latest<boolean>;
  readonly containerLogLinks: string;
  /** Inspects the pod now, bypassing any cached result. */
  readonly inspect: (uid: string, signal: AbortSignal) => Promise<PodRuntimeView>;
}

const EVERY_MS = 60_000;
/** Scope name of the Go kubelet's container GC in traces. */
const SCOPE = "k8s.io/kubernetes/pkg/kubelet/kuberuntime";

export async function collectContainers(options: ContainerGcOptions, shutdown: AbortSignal): Promise<void> {
  const { podRuntimeStatus, podOutcomes, admittedPods, clock, log } = options;
  const loop = new KeyedLoop<string>({
    clock,
    turn: (uid, { signal }) => collectPod(uid, options, signal),
    onBug: (uid, error) => log.error("Unexpected error while removing a pod's dead containers", error, { uid }),
    shutdown,
  });
  for (const table of [podRuntimeStatus, podOutcomes, admittedPods]) loop.watch(table, (uid: string) => loop.wake(uid));
  await loop.run(async () => {
    while (!shutdown.aborted) {
      for (const uid of podRuntimeStatus.keys()) loop.wake(uid);
      await pause(clock, EVERY_MS, shutdown);
    }
  });
}

async function collectPod(uid: string, options: ContainerGcOptions, signal: AbortSignal): Promise<void> {
  const known = options.podRuntimeStatus.get(uid);
  const ended = podHasEnded(uid, options);
  if (known === undefined || ended === undefined) return;
  const plan = gcPlan(known, ended);
  if (plan.containers.length === 0 && plan.sandboxIds.length === 0) return;
  const span = {
    scope: SCOPE,
    name: "Containers/GarbageCollect",
    attributes: { "k8s.pod.uid": uid },
    parent: "none",
  } as const;
  try {
    await inSpan(options.tracer, span, () => remove(plan, known, options, signal));
  } catch (error) {
    if (signal.aborted) return;
    options.log.error("Failed to remove dead containers", error, { uid });
    const node = nodeSubject(options.nodeName);
    options.events.emit(node, "Warning", "ContainerGCFailed", errorText(error));
  }
}

async function remove(
  plan: GcPlan,
  known: PodRuntimeView,
  options: ContainerGcOptions,
  signal: AbortSignal,
): Promise<void> {
  for (const container of plan.containers) {
    await options.runtime.removeContainer(container.id, signal);
    await removeLogs(container, known, options);
  }
  for (const id of plan.sandboxIds) {
    // The worker has already stopped this sandbox, otherwise the plan would not contain it. The removal also cleans up
    // the remains of its network.
    await options.runtime.removeSandbox(id, signal);
  }
  await options.inspect(known.uid, signal);
}

/** Undefined: not decided yet. */
function podHasEnded(
  uid: string,
  { podOutcomes, admittedPods, sourcesReady }: ContainerGcOptions,
): boolean | undefined {
  const outcome = podOutcomes.get(uid);
  const admitted = admittedPods.get(uid);
  if (admitted === undefined)
    return sourcesReady.value && (outcome === undefined || outcome.lifecycle.kind === "finished") ? true : undefined;
  if (outcome === undefined) return undefined;
  // A pod that completed by itself keeps its last containers, for their logs, as long as the API server has the pod.
  const { lifecycle } = outcome;
  return lifecycle.kind === "finished" && lifecycle.why.kind !== "completed";
}

/** Removes a container's log, its rotated logs and its symlink. */
async function removeLogs(
  container: PodContainer,
  view: PodRuntimeView,
  { files, containerLogLinks, log }: ContainerGcOptions,
): Promise<void> {
  const { logPath } = container;
  const slash = logPath.lastIndexOf("/");
  const name = podNameOf(view);
  try {
    if (slash > 0) {
      const [directory, file] = [logPath.slice(0, slash), logPath.slice(slash + 1)];
      const names = (await files.list(directory)).filter((entry) => entry === file || entry.startsWith(`${file}.`));
      for (const entry of names) await files.removeFile(`${directory}/${entry}`);
    }
    if (name !== undefined) {
      const link = logLinkName({ ...name, uid: view.uid }, containerNameOf(container), container.id);
      await files.removeFile(`${containerLogLinks}/${link}`);
    }
  } catch (error) {
    if (!isMissing(error))
      log.error("Failed to remove the logs of a dead container", error, { containerID: container.id });
  }
}
