/**
 * Removes dead containers and sandboxes together with their logs: at once when a pod has one too many or was removed,
 * and those beyond the limits every minute. At the request of eviction, the containers of completed pods go as well; an
 * answer always follows. Only the pod's worker decides that a pod is finished, so no exit is removed before it is
 * published.
 */

import { errorText } from "../../base/error-text.ts";
import { isDefined } from "../../base/is-defined.ts";
import { raceAbort, unlessShutDown } from "../../concurrency/abort.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import { inSpan } from "../../concurrency/in-span.ts";
import { KeyedLoop } from "../../concurrency/keyed-loop.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import { settleAll } from "../../concurrency/settle-all.ts";
import { pause } from "../../concurrency/sleep.ts";
import { nodeSubject } from "../../domain/events/recorded-event.ts";
import type { ReclaimReport, ReclaimRequests } from "../../domain/eviction/reclaim.ts";
import {
  type ContainerGcPolicy,
  type GcPlan,
  type GcPod,
  gcPlan,
  type PodStanding,
  surplusOf,
} from "../../domain/housekeeping/container-gc.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { DesiredPods } from "../../domain/pod/desired-pod.ts";
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
  readonly desiredPods: Latest<DesiredPods>;
  readonly sourcesReady: Latest<boolean>;
  readonly reclaimRequests: Latest<ReclaimRequests>;
  readonly containersReclaimed: LatestCell<ReclaimReport>;
  readonly policy: ContainerGcPolicy;
  readonly containerLogLinks: string;
  /** Inspects the pod now, bypassing any cached result. */
  readonly inspect: (uid: string, signal: AbortSignal) => Promise<PodRuntimeView>;
}

const EVERY_MS = 60_000;
/** A request of eviction is answered after this time at the latest; removals that take longer continue. */
const ANSWER_MS = 60_000;
/**
 * The runtime frees the space of removed containers a moment later: containerd's garbage collection follows within a
 * few times its own duration. Measured before that, the node would still be short, and a pod would be evicted.
 */
const SETTLE_MS = 2_000;
/** Scope name of the Go kubelet's container GC in traces. */
const SCOPE = "k8s.io/kubernetes/pkg/kubelet/kuberuntime";

export const collectContainers = (options: ContainerGcOptions, shutdown: AbortSignal): Promise<void> =>
  new ContainerGc(options, shutdown).run();

class ContainerGc {
  readonly #options: ContainerGcOptions;
  readonly #shutdown: AbortSignal;
  readonly #loop: KeyedLoop<string>;
  /** Containers beyond the limits of the last round. */
  #surplus: ReadonlySet<string> = new Set();
  /** Pods of which the next turn removes everything dead, even if they still exist. */
  readonly #reclaims = new Map<string, PromiseWithResolvers<boolean>>();

  constructor(options: ContainerGcOptions, shutdown: AbortSignal) {
    this.#options = options;
    this.#shutdown = shutdown;
    this.#loop = new KeyedLoop<string>({
      clock: options.clock,
      turn: (uid, { signal }) => this.#turn(uid, signal),
      onBug: (uid, error) =>
        options.log.error("Unexpected error while removing a pod's dead containers", error, { uid }),
      shutdown,
    });
  }

  run(): Promise<void> {
    const { podRuntimeStatus, podOutcomes, admittedPods, clock } = this.#options;
    const loop = this.#loop;
    for (const table of [podRuntimeStatus, podOutcomes, admittedPods])
      loop.watch(table, (uid: string) => loop.wake(uid));
    const everyMinute = async () => {
      while (!this.#shutdown.aborted) {
        this.#round();
        await pause(clock, EVERY_MS, this.#shutdown);
      }
    };
    return loop.run(() => Promise.all([everyMinute(), unlessShutDown(this.#shutdown, () => this.#answer())]));
  }

  #round(): void {
    const { policy, clock, podRuntimeStatus } = this.#options;
    const uids = [...podRuntimeStatus.keys()];
    const pods = uids.map((uid) => gcPodOf(uid, this.#options)).filter(isDefined);
    this.#surplus = surplusOf(pods, { policy, nowWallMs: clock.wallMs() });
    for (const uid of uids) this.#loop.wake(uid);
  }

  async #answer(): Promise<void> {
    const { reclaimRequests, containersReclaimed, sourcesReady } = this.#options;
    for (let seen = reclaimRequests.version; ; seen = await reclaimRequests.changed(seen, this.#shutdown)) {
      const number = reclaimRequests.value.containers;
      if (number <= containersReclaimed.value.number) continue;
      const error = sourcesReady.value ? await this.#reclaim() : "not every source of pods has been read";
      containersReclaimed.set({ number, freedBytes: 0n, error });
    }
  }

  /** Returns what went wrong. The runtime does not report how much space a removal has freed. */
  async #reclaim(): Promise<string | undefined> {
    const { podRuntimeStatus, clock, log } = this.#options;
    log.info(0, "Attempting to delete unused containers");
    for (const uid of podRuntimeStatus.keys()) this.#reclaims.set(uid, Promise.withResolvers());
    let isAnyRemoved = false;
    const turns = [...this.#reclaims.values()].map(async ({ promise }) => {
      if (await promise) isAnyRemoved = true;
    });
    this.#round();
    let failure: string | undefined;
    try {
      await withDeadline(clock, ANSWER_MS, this.#shutdown, (signal) => raceAbort(settleAll(turns), signal));
    } catch (error) {
      this.#shutdown.throwIfAborted();
      failure = errorText(error);
    }
    if (isAnyRemoved) await pause(clock, SETTLE_MS, this.#shutdown);
    return failure;
  }

  async #turn(uid: string, signal: AbortSignal): Promise<void> {
    const { log, events, nodeName } = this.#options;
    const reclaim = this.#reclaims.get(uid);
    this.#reclaims.delete(uid);
    try {
      const hasRemoved = await this.#collect(uid, reclaim !== undefined, signal);
      reclaim?.resolve(hasRemoved);
    } catch (error) {
      reclaim?.reject(error);
      if (signal.aborted) return;
      log.error("Failed to remove dead containers", error, { uid });
      events.emit(nodeSubject(nodeName), "Warning", "ContainerGCFailed", errorText(error));
    }
  }

  /** Returns whether anything was removed. */
  async #collect(uid: string, underPressure: boolean, signal: AbortSignal): Promise<boolean> {
    const { policy, clock, tracer } = this.#options;
    const known = gcPodOf(uid, this.#options);
    if (known === undefined) return false;
    const pod = underPressure && known.standing === "completed" ? { ...known, standing: "removed" as const } : known;
    const plan = gcPlan(pod, { policy, nowWallMs: clock.wallMs(), surplus: this.#surplus });
    if (plan.containers.length === 0 && plan.sandboxIds.length === 0) return false;
    const span = {
      scope: SCOPE,
      name: "Containers/GarbageCollect",
      attributes: { "k8s.pod.uid": uid },
      parent: "none",
    } as const;
    await inSpan(tracer, span, () => remove(plan, pod.view, this.#options, signal));
    return true;
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

/** Undefined: the pod is unknown to the runtime, or its standing is not decided yet. */
function gcPodOf(uid: string, options: ContainerGcOptions): GcPod | undefined {
  const view = options.podRuntimeStatus.get(uid);
  const standing = standingOf(uid, options);
  return view === undefined || standing === undefined ? undefined : { view, standing };
}

function standingOf(
  uid: string,
  { podOutcomes, admittedPods, desiredPods, sourcesReady }: ContainerGcOptions,
): PodStanding | undefined {
  const outcome = podOutcomes.get(uid);
  if (admittedPods.get(uid) === undefined) {
    // A static pod that returns is about to be admitted again: its dead containers hold its restart counts.
    if (desiredPods.value.pods.has(uid)) return undefined;
    const isFinished = outcome === undefined || outcome.lifecycle.kind === "finished";
    return sourcesReady.value && isFinished ? "removed" : undefined;
  }
  if (outcome === undefined) return undefined;
  const { lifecycle } = outcome;
  if (lifecycle.kind !== "finished") return "active";
  return lifecycle.why.kind === "completed" ? "completed" : "removed";
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
