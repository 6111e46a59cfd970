/**
 * Publishes the outcomes of the pod workers as pod statuses: one patch in flight per pod, computed from the watch's
 * copy without a read. Deletes a pod from the API server when its deletion was requested, it is finished, and its final
 * status is published.
 *
 * A minor change (the sandbox is ready, a change of the object was seen) waits `MINOR_WAIT_MS` for the next change and
 * is usually sent with it. This saves one request per start and per termination. No change is lost: if nothing follows,
 * the minor change is sent alone.
 */

import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import { pods } from "../../api/resources.ts";
import { doublingMs } from "../../base/backoff.ts";
import { errorText } from "../../base/error-text.ts";
import type { JsonObject } from "../../base/json-equal.ts";
import { KeyedLoop } from "../../concurrency/keyed-loop.ts";
import type { TurnObserver } from "../../concurrency/keyed-worker.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { LatestTable, ReadonlyTable } from "../../concurrency/latest-table.ts";
import { onChange } from "../../concurrency/on-change.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { type DesiredPods, mirrorOf } from "../../domain/pod/desired-pod.ts";
import { type BlockedTermination, endRetryMs, type StepReport } from "../../domain/pod/ending.ts";
import { emptyOutcome, type PodOutcome } from "../../domain/pod/pod-outcome.ts";
import { isTerminal } from "../../domain/pod-status/phase.ts";
import { isMinor, statusPatch } from "../../domain/pod-status/status-patch.ts";
import { hostIpsOf, wantedStatus } from "../../domain/pod-status/wanted-status.ts";
import type { ProbeResult } from "../../domain/probes/verdicts.ts";
import { isConflict, isNotFound } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";

export interface StatusOptions {
  readonly api: Pick<ApiServer, "patch" | "delete">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly desiredPods: Latest<DesiredPods>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
  readonly probeResults: ReadonlyTable<string, ProbeResult>;
  readonly blockedTerminations: ReadonlyTable<string, BlockedTermination>;
  /** Of finished pods: why their final status could not be published or their object could not be deleted. */
  readonly publishTroubles: LatestTable<string, StepReport>;
  readonly ownNode: Latest<OwnNode>;
  readonly qosClass: (pod: Pod) => string;
  readonly runtimeName: () => string;
  readonly recursiveReadOnly: (handler: string) => boolean;
  readonly stopSignals: boolean;
  readonly podMetrics?: Pick<PodMetrics, "statusSync">;
  readonly queue?: TurnObserver<string>;
}

const RETRY = { firstMs: 200, maxMs: 10_000 };
/** About the time that a container takes to start, or to exit when it is stopped. */
const MINOR_WAIT_MS = 250;

/** The inputs with which the published status was last found correct. */
interface Agreed {
  readonly outcome: PodOutcome;
  readonly resourceVersion: string | undefined;
  /** The other inputs of the status, as text. */
  readonly around: string;
}

export class StatusPublisher {
  readonly #options: StatusOptions;
  /** The API server's response to our patch, until the watch delivers that version or a newer one. */
  readonly #written = new Map<string, Pod>();
  readonly #agreed = new Map<string, Agreed>();
  readonly #failures = new Map<string, number>();
  /** Pods whose deletion the API server has accepted; until the watch shows it, nothing more is requested. */
  readonly #removed = new Set<string>();
  /** Since when a minor change has been waiting, on the monotonic clock. */
  readonly #minorSinceMs = new Map<string, number>();
  /** Since when a change is unpublished, on the monotonic clock. */
  readonly #unreportedSinceMs = new Map<string, number>();

  constructor(options: StatusOptions) {
    this.#options = options;
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { admittedPods, podOutcomes, probeResults, desiredPods, clock, log } = this.#options;
    const loop = new KeyedLoop<string>({
      clock,
      turn: (uid, { signal, wakeIn }) => this.#turn(uid, signal, wakeIn),
      onBug: (uid, error) => log.error("Unexpected error while publishing a pod's status", error, { uid }),
      afterBugMs: RETRY.maxMs,
      shutdown,
      queue: this.#options.queue,
    });
    const changed = (uid: string) => {
      if (!this.#unreportedSinceMs.has(uid)) this.#unreportedSinceMs.set(uid, clock.monotonicMs());
      loop.wake(uid);
    };
    const wakeAll = () => {
      for (const uid of podOutcomes.keys()) loop.wake(uid);
    };
    const probed = (id: string) => {
      const uid = probeResults.get(id)?.uid;
      if (uid !== undefined) changed(uid);
    };
    loop.watch(admittedPods, (uid) => loop.wake(uid));
    loop.watch(podOutcomes, changed);
    loop.watch(probeResults, probed);
    loop.watch(this.#options.blockedTerminations, changed);
    await loop.run(() =>
      Promise.all([
        this.#whenAddressesChange(wakeAll, shutdown),
        onChange(desiredPods, () => this.#wakeStatic(loop), shutdown),
      ]),
    );
  }

  /** The Node changes with every heartbeat, but its addresses hardly ever. */
  async #whenAddressesChange(act: () => void, shutdown: AbortSignal): Promise<void> {
    const { ownNode } = this.#options;
    let known = "";
    await onChange(
      ownNode,
      () => {
        const addresses = hostIpsOf(ownNode.value).join(" ");
        if (addresses !== known) act();
        known = addresses;
      },
      shutdown,
    );
  }

  /** A mirror pod was created, deleted or changed: publish the status on the current one. */
  #wakeStatic(loop: KeyedLoop<string>): void {
    for (const uid of this.#options.admittedPods.keys()) {
      if (this.#options.admittedPods.get(uid)?.isStatic === true) loop.wake(uid);
    }
  }

  async #turn(uid: string, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const admitted = this.#options.admittedPods.get(uid);
    const outcome = this.#options.podOutcomes.get(uid) ?? withoutOutcome(admitted);
    if (admitted === undefined) {
      this.#written.delete(uid);
      this.#agreed.delete(uid);
      this.#failures.delete(uid);
      this.#removed.delete(uid);
      this.#minorSinceMs.delete(uid);
      this.#unreportedSinceMs.delete(uid);
      this.#options.publishTroubles.delete(uid);
      return;
    }
    if (outcome === undefined || isOfEarlierLife(admitted, outcome)) return;
    const published = this.#published(admitted);
    if (published === undefined) return;
    let step: "status" | "object" = "status";
    try {
      const now = this.#isAgreed(uid, outcome, published)
        ? published
        : await this.#publish(admitted, outcome, published, signal, wakeIn);
      if (now === undefined) return;
      step = "object";
      await this.#removeIfOver(admitted, outcome, now, signal);
      this.#failures.delete(uid);
      this.#options.publishTroubles.delete(uid);
    } catch (error) {
      if (signal.aborted || isNotFound(error)) return;
      const failures = (this.#failures.get(uid) ?? 0) + 1;
      this.#failures.set(uid, failures);
      // A conflict means that the watch is about to deliver a newer version.
      if (!isConflict(error)) this.#options.log.error("Failed to publish a pod's status", error, { uid });
      const isFinished = outcome.lifecycle.kind === "finished";
      const delayMs = isFinished ? endRetryMs(failures) : doublingMs(RETRY, failures);
      const againMs = delayMs * (1 + this.#options.random.fraction() / 2);
      wakeIn(againMs);
      if (isFinished) this.#noteTrouble(uid, step, failures, error, againMs);
    }
  }

  #noteTrouble(uid: string, step: "status" | "object", attempts: number, error: unknown, againMs: number): void {
    const { publishTroubles, clock } = this.#options;
    const nextTryMonotonicMs = clock.monotonicMs() + againMs;
    publishTroubles.set(uid, { step, attempts, error: errorText(error), nextTryMonotonicMs });
  }

  /** The newest known API object of this pod: its own, or the mirror pod of a static pod. */
  #published({ uid, pod, isStatic }: AdmittedPod): Pod | undefined {
    const watched = isStatic ? mirrorOf(pod, this.#options.desiredPods.value) : pod;
    if (watched === undefined) return undefined;
    const written = this.#written.get(uid);
    const isOurs = written?.metadata?.uid === watched.metadata?.uid;
    if (written !== undefined && isOurs && versionOf(written) > versionOf(watched)) {
      return { ...watched, status: written.status ?? {} };
    }
    this.#written.delete(uid);
    return watched;
  }

  /** Returns the published pod; undefined if the status is sent later. */
  async #publish(
    admitted: AdmittedPod,
    outcome: PodOutcome,
    published: Pod,
    signal: AbortSignal,
    wakeIn: (ms: number) => void,
  ): Promise<Pod | undefined> {
    const { api } = this.#options;
    // Changes during the patch are not part of it.
    const around = this.#around(outcome);
    const patch = statusPatch(published, this.#wanted(admitted, outcome, published.status ?? {}));
    const waitMs = patch === undefined ? 0 : this.#waitMs(admitted.uid, patch, outcome);
    if (waitMs > 0) wakeIn(waitMs);
    if (patch === undefined) this.#unreportedSinceMs.delete(admitted.uid);
    if (patch === undefined) this.#agree(admitted.uid, outcome, this.#versionOf(admitted.uid, published), around);
    if (patch === undefined) return published;
    if (waitMs > 0) return undefined;
    this.#minorSinceMs.delete(admitted.uid);
    const { name = "", namespace = "" } = published.metadata ?? {};
    const before = this.#versionOf(admitted.uid, published);
    const answer = await api.patch(
      pods,
      { name, namespace },
      { kind: "strategic", body: patch },
      { subresource: "status" },
      signal,
    );
    this.#measure(admitted.uid);
    this.#written.set(admitted.uid, answer);
    const now = { ...published, status: answer.status ?? {} };
    const version = answer.metadata?.resourceVersion;
    // The patched object may be newer than our copy, for example after a lost response: then retry. A field that the
    // server does not accept is not sent again and again. A change of the inputs during the patch is not an error; the
    // next sync publishes it.
    const isReported = statusPatch(now, this.#wanted(admitted, outcome, now.status)) === undefined;
    const hasNews = this.#around(outcome) !== around;
    if (!isReported && !hasNews && version !== before)
      throw new Error("what is published now is not what was to be published");
    this.#agree(admitted.uid, outcome, version, around);
    return now;
  }

  #measure(uid: string): void {
    const { clock, podMetrics } = this.#options;
    const sinceMs = this.#unreportedSinceMs.get(uid);
    this.#unreportedSinceMs.delete(uid);
    if (sinceMs !== undefined) podMetrics?.statusSync.observe((clock.monotonicMs() - sinceMs) / 1000);
  }

  /** The resource version of the newest known published status. */
  #versionOf(uid: string, published: Pod): string | undefined {
    return (this.#written.get(uid) ?? published).metadata?.resourceVersion;
  }

  #agree(uid: string, outcome: PodOutcome, resourceVersion: string | undefined, around: string): void {
    this.#agreed.set(uid, { outcome, resourceVersion, around });
  }

  /** The node's addresses, probe results, the blocked termination step, and what a resize waits for. */
  #around({ uid, view }: PodOutcome): string {
    const { ownNode, probeResults, blockedTerminations, admittedPods } = this.#options;
    const verdicts = view.containers.flatMap(({ id }) => {
      const result = probeResults.get(id);
      return result === undefined ? [] : [`${id} ${result.startup} ${result.readiness}`];
    });
    const end = blockedTerminations.get(uid);
    const blocked = end?.kind === "blocked" ? end.by.message : "";
    const { reason, message, generation } = admittedPods.get(uid)?.resize?.pending ?? {};
    const reported = [end?.kind, blocked, reason, message, generation].map((text) => text ?? "");
    return [...hostIpsOf(ownNode.value), ...verdicts, ...reported].join(", ");
  }

  /** The watch delivers our own patches: those need no second comparison. */
  #isAgreed(uid: string, outcome: PodOutcome, published: Pod): boolean {
    const agreed = this.#agreed.get(uid);
    return (
      agreed?.outcome === outcome &&
      agreed.resourceVersion === this.#versionOf(uid, published) &&
      agreed.around === this.#around(outcome)
    );
  }

  /** How long a patch may still wait for the next change. A finished pod has no further changes. */
  #waitMs(uid: string, patch: JsonObject, { lifecycle }: PodOutcome): number {
    if (lifecycle.kind === "finished" || !isMinor(patch)) return 0;
    const nowMs = this.#options.clock.monotonicMs();
    const sinceMs = this.#minorSinceMs.get(uid) ?? nowMs;
    this.#minorSinceMs.set(uid, sinceMs);
    return Math.max(0, sinceMs + MINOR_WAIT_MS - nowMs);
  }

  #wanted(admitted: AdmittedPod, outcome: PodOutcome, previous: PodStatus): PodStatus {
    const { clock, ownNode, qosClass, runtimeName, recursiveReadOnly, stopSignals, probeResults } = this.#options;
    return wantedStatus(admitted, outcome, previous, {
      qosClass: qosClass(admitted.pod),
      runtimeName: runtimeName(),
      recursiveReadOnly,
      stopSignals,
      hostIps: hostIpsOf(ownNode.value),
      wallMs: clock.wallMs(),
      blockedTermination: this.#options.blockedTerminations.get(admitted.uid),
      verdictsOf: (id) => probeResults.get(id),
    });
  }

  async #removeIfOver(
    { isStatic }: AdmittedPod,
    { lifecycle }: PodOutcome,
    published: Pod,
    signal: AbortSignal,
  ): Promise<void> {
    const { metadata, status } = published;
    if (isStatic || lifecycle.kind !== "finished") return;
    if (metadata?.deletionTimestamp === undefined || !isTerminal(status?.phase)) return;
    const { name = "", namespace = "", uid = "" } = metadata;
    if (this.#removed.has(uid)) return;
    await this.#options.api.delete(
      pods,
      { name, namespace },
      { gracePeriodSeconds: 0, preconditions: { uid } },
      signal,
    );
    this.#removed.add(uid);
  }
}

/** Resource versions of one resource type increase and can be compared. */
const versionOf = ({ metadata }: Pod): number => Number(metadata?.resourceVersion ?? 0);

/** A static pod that was removed from its source and returned: the outcome is that of the removed pod. */
const isOfEarlierLife = ({ isStatic }: AdmittedPod, { lifecycle }: PodOutcome): boolean =>
  isStatic && lifecycle.kind !== "running" && lifecycle.why.kind === "removed";

/** A deferred pod has no outcome from a worker, but its status still shows what it waits for. */
const withoutOutcome = (admitted: AdmittedPod | undefined): PodOutcome | undefined =>
  admitted?.verdict.kind === "deferred" ? emptyOutcome(admitted.uid) : undefined;
