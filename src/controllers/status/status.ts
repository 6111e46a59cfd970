/**
 * Publishes what the workers made of their pods: one patch in flight per pod, from the watch's own copy, without reading first. When a
 * pod that was to be deleted is finished and its end is published, removes it from the API server.
 *
 * What a pod only passes through (its sandbox is there, a change of its object was seen) waits a moment for what comes next, and mostly
 * goes with it: a request less per start and per end. It is never lost: what nothing followed is told by itself.
 */

import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import { pods } from "../../api/resources.ts";
import { doublingMs } from "../../base/backoff.ts";
import { errorText } from "../../base/error-text.ts";
import type { JsonObject } from "../../base/json-equal.ts";
import { KeyedLoop } from "../../concurrency/keyed-loop.ts";
import type { TurnObserver } from "../../concurrency/keyed-worker.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { LatestTable, ReadTable } from "../../concurrency/latest-table.ts";
import { whenever } from "../../concurrency/whenever.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { type DesiredPods, mirrorOf } from "../../domain/pod/desired-pod.ts";
import { type EndNews, endRetryMs, type StepReport } from "../../domain/pod/ending.ts";
import { type PodOutcome, untouched } from "../../domain/pod/pod-outcome.ts";
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
  readonly admittedPods: ReadTable<string, AdmittedPod>;
  readonly desiredPods: Latest<DesiredPods>;
  readonly podOutcomes: ReadTable<string, PodOutcome>;
  readonly probeResults: ReadTable<string, ProbeResult>;
  readonly blockedEnds: ReadTable<string, EndNews>;
  /** Of pods that are finished: what could not be said of them to the API server. */
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
/** About what a container takes to start, or to end when it is told to. */
const MINOR_WAIT_MS = 250;

/** What was last found to be published as it should be. */
interface Agreed {
  readonly outcome: PodOutcome;
  readonly resourceVersion: string | undefined;
  /** What else it was made from. */
  readonly around: string;
}

export class StatusPublisher {
  readonly #options: StatusOptions;
  /** What the API server has answered, until the watch shows that or something newer. */
  readonly #written = new Map<string, Pod>();
  readonly #agreed = new Map<string, Agreed>();
  readonly #failures = new Map<string, number>();
  /** Whose removal the API server has taken; until the watch shows it there is nothing more to ask for. */
  readonly #removed = new Set<string>();
  /** Since when something minor waits, on the monotonic clock. */
  readonly #minorSinceMs = new Map<string, number>();
  /** Since when something is to be told, on the monotonic clock. */
  readonly #untoldSinceMs = new Map<string, number>();

  constructor(options: StatusOptions) {
    this.#options = options;
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { admittedPods, podOutcomes, probeResults, desiredPods, clock, log } = this.#options;
    const loop = new KeyedLoop<string>({
      clock,
      turn: (uid, { signal, wakeIn }) => this.#turn(uid, signal, wakeIn),
      onBug: (uid, error) => log.error("publishing a status failed in an unforeseen way", error, { uid }),
      afterBugMs: RETRY.maxMs,
      shutdown,
      queue: this.#options.queue,
    });
    const changed = (uid: string) => {
      if (!this.#untoldSinceMs.has(uid)) this.#untoldSinceMs.set(uid, clock.monotonicMs());
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
    loop.watch(this.#options.blockedEnds, changed);
    await loop.run(() =>
      Promise.all([
        this.#whenAddressesChange(wakeAll, shutdown),
        whenever(desiredPods, () => this.#wakeStatic(loop), shutdown),
      ]),
    );
  }

  /** The Node changes with every heartbeat; its addresses hardly ever. */
  async #whenAddressesChange(act: () => void, shutdown: AbortSignal): Promise<void> {
    const { ownNode } = this.#options;
    let known = "";
    await whenever(
      ownNode,
      () => {
        const addresses = hostIpsOf(ownNode.value).join(" ");
        if (addresses !== known) act();
        known = addresses;
      },
      shutdown,
    );
  }

  /** A mirror pod came, went or changed: the status belongs on the one that is there now. */
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
      this.#untoldSinceMs.delete(uid);
      this.#options.publishTroubles.delete(uid);
      return;
    }
    if (outcome === undefined) return;
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
      // A conflict says that the watch is about to show something newer.
      if (!isConflict(error)) this.#options.log.error("a pod's status could not be published", error, { uid });
      const isOver = outcome.lifecycle.kind === "finished";
      const delayMs = isOver ? endRetryMs(failures) : doublingMs(RETRY, failures);
      const againMs = delayMs * (1 + this.#options.random.fraction() / 2);
      wakeIn(againMs);
      if (isOver) this.#noteTrouble(uid, step, failures, error, againMs);
    }
  }

  #noteTrouble(uid: string, step: "status" | "object", attempts: number, error: unknown, againMs: number): void {
    const { publishTroubles, clock } = this.#options;
    const nextTryMonotonicMs = clock.monotonicMs() + againMs;
    publishTroubles.set(uid, { step, attempts, error: errorText(error), nextTryMonotonicMs });
  }

  /** The API server's object for this pod, as far as we know: its own, or the mirror of a static one. */
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

  /** Answers with what is published then; undefined: it is told later. */
  async #publish(
    admitted: AdmittedPod,
    outcome: PodOutcome,
    published: Pod,
    signal: AbortSignal,
    wakeIn: (ms: number) => void,
  ): Promise<Pod | undefined> {
    const { api } = this.#options;
    // Whatever changes while the patch is under way is not in it.
    const around = this.#around(outcome);
    const patch = statusPatch(published, this.#wanted(admitted, outcome, published.status ?? {}));
    const waitMs = patch === undefined ? 0 : this.#waitMs(admitted.uid, patch, outcome);
    if (waitMs > 0) wakeIn(waitMs);
    if (patch === undefined) this.#untoldSinceMs.delete(admitted.uid);
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
    // What we wrote upon may be older than what there was, as where an answer was lost. What the server does not take is not told again and again. What
    // has changed around the pod meanwhile is news: it is not agreed upon, and told next.
    const isTold = statusPatch(now, this.#wanted(admitted, outcome, now.status)) === undefined;
    const hasNews = this.#around(outcome) !== around;
    if (!isTold && !hasNews && version !== before)
      throw new Error("what is published now is not what was to be published");
    this.#agree(admitted.uid, outcome, version, around);
    return now;
  }

  #measure(uid: string): void {
    const { clock, podMetrics } = this.#options;
    const sinceMs = this.#untoldSinceMs.get(uid);
    this.#untoldSinceMs.delete(uid);
    if (sinceMs !== undefined) podMetrics?.statusSync.observe((clock.monotonicMs() - sinceMs) / 1000);
  }

  /** Of the status that is published as far as we know. */
  #versionOf(uid: string, published: Pod): string | undefined {
    return (this.#written.get(uid) ?? published).metadata?.resourceVersion;
  }

  #agree(uid: string, outcome: PodOutcome, resourceVersion: string | undefined, around: string): void {
    this.#agreed.set(uid, { outcome, resourceVersion, around });
  }

  /** The node's addresses, what the probes say, on what its end hangs, and what a resize waits for. */
  #around({ uid, view }: PodOutcome): string {
    const { ownNode, probeResults, blockedEnds, admittedPods } = this.#options;
    const verdicts = view.containers.flatMap(({ id }) => {
      const result = probeResults.get(id);
      return result === undefined ? [] : [`${id} ${result.startup} ${result.readiness}`];
    });
    const end = blockedEnds.get(uid);
    const blocked = end?.kind === "blocked" ? end.by.message : "";
    const { reason, message, generation } = admittedPods.get(uid)?.resize?.pending ?? {};
    const told = [end?.kind, blocked, reason, message, generation].map((text) => text ?? "");
    return [...hostIpsOf(ownNode.value), ...verdicts, ...told].join(", ");
  }

  /** The watch echoes our own words: nothing is compared for them a second time. */
  #isAgreed(uid: string, outcome: PodOutcome, published: Pod): boolean {
    const agreed = this.#agreed.get(uid);
    return (
      agreed?.outcome === outcome &&
      agreed.resourceVersion === this.#versionOf(uid, published) &&
      agreed.around === this.#around(outcome)
    );
  }

  /** How long a patch may still wait for what comes next. A pod that is finished has nothing to come. */
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
      blockedEnd: this.#options.blockedEnds.get(admitted.uid),
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

/** Versions of one kind of object count up, and may be compared. */
const versionOf = ({ metadata }: Pod): number => Number(metadata?.resourceVersion ?? 0);

/** A pod that is not taken yet has no worker's word, and still says what it waits for. */
const withoutOutcome = (admitted: AdmittedPod | undefined): PodOutcome | undefined =>
  admitted?.verdict.kind === "deferred" ? untouched(admitted.uid) : undefined;
