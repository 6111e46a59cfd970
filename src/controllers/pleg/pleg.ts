/**
 * Watches the runtime. Events are hints that cause the inspection of one pod. The full list is authoritative; it is
 * read at startup, after the event stream breaks, and every 30 to 60 seconds. A runtime without events is listed every
 * second. A pod whose status the runtime does not report is retried soon and stays in `statusFailures` until the
 * runtime reports it.
 *
 * A lost event costs time, never correctness: the next list finds the change. Only a stop is inspected at once.
 * Creations and starts are made by a worker, which inspects the pod itself when its call returns, so these hints are
 * deferred. Every hint is deferred while the pod is being mutated or inspected. A deferred hint whose change is known
 * by then is dropped.
 */
import { errorText } from "../../base/error-text.ts";
import { linkSignals } from "../../concurrency/abort.ts";
import { KeyedWorker, type TurnObserver } from "../../concurrency/keyed-worker.ts";
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import type { LatestTable } from "../../concurrency/latest-table.ts";
import type { Heartbeat } from "../../concurrency/loop-heartbeats.ts";
import { pause, sleep } from "../../concurrency/sleep.ts";
import { TimerQueue } from "../../concurrency/timer-queue.ts";
import type { PlegMetrics } from "../../domain/metrics/runtime-metrics.ts";
import { listingByPod } from "../../domain/pod/runtime-listing.ts";
import type { ContainerEvent } from "../../domain/runtime/container.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";
import type { PodInspector } from "./pod-inspector.ts";

export interface PlegOptions {
  readonly runtime: Pick<Runtime, "listSandboxes" | "listContainers" | "events">;
  readonly inspector: PodInspector;
  /** The sandboxes of the last full list; undefined before the first. */
  readonly listedSandboxes: LatestCell<readonly Sandbox[] | undefined>;
  /** By pod UID: why the runtime did not report the pod's status after a change. */
  readonly statusFailures: LatestTable<string, string>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly heartbeat: Pick<Heartbeat, "beat">;
  readonly plegMetrics?: PlegMetrics;
  readonly queue?: TurnObserver<string>;
}

const RELIST_MS_MIN = 30_000;
const RELIST_MS_MAX = 60_000;
const RELIST_WITHOUT_EVENTS_MS = 1_000;
/** Longer than a runtime call continues after the event that it causes. */
const DEFERRED_MS = 500;
/** Retry delays after a failure: short at first, then longer. */
const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 3_000;

export class Pleg {
  readonly #options: PlegOptions;
  #lastListedMs: number | undefined;
  /**
   * Pods for which only a stop was reported: inspecting the known parts suffices, because nothing new needs a listing.
   */
  readonly #ended = new Set<string>();
  /** By pod UID: the delay after the next failed inspection. */
  readonly #retryMs = new Map<string, number>();

  constructor(options: PlegOptions) {
    this.#options = options;
  }

  /** When the last full list was read, on the monotonic clock. */
  get lastListedMs(): number | undefined {
    return this.#lastListedMs;
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const inspections: KeyedWorker<string> = new KeyedWorker<string>({
      turn: (uid, signal) => this.#inspect(uid, { inspections, deferred, retries }, signal),
      onBug: (uid, error) => this.#options.log.error("Unexpected error while inspecting a pod", error, { uid }),
      shutdown,
      ...(this.#options.queue && { queue: this.#options.queue }),
    });
    const retries = new TimerQueue<string>(this.#options.clock, (uid) => inspections.wake(uid));
    const deferred = new DeferredEvents(this.#options.clock, this.#options.inspector, (uid) => inspections.wake(uid));
    let eventless = false;
    let retryMs = RETRY_MS_MIN;
    while (!shutdown.aborted) {
      using round = linkSignals(shutdown);
      try {
        // The stream is opened first, so that a change before the list completes is in the stream, the list, or both.
        const stream: "none" | Promise<"broken" | "unimplemented"> = eventless
          ? "none"
          : this.#follow(inspections, deferred, round.signal);
        this.#options.heartbeat.beat();
        await this.#relist(inspections, round.signal);
        retryMs = RETRY_MS_MIN;
        if (stream === "none") await sleep(this.#options.clock, RELIST_WITHOUT_EVENTS_MS, round.signal);
        else eventless = (await this.#relistUntilBroken(inspections, stream, round.signal)) === "unimplemented";
      } catch (error) {
        if (shutdown.aborted) break;
        this.#options.log.error("Failed to list the runtime's pods and containers", error);
        round.abort(error);
        await pause(this.#options.clock, retryMs, shutdown);
        retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
      }
    }
    deferred.close();
    retries.close();
    await inspections.drained();
  }

  /** Resolves with the reason when the stream has ended. */
  async #follow(
    inspections: KeyedWorker<string>,
    deferred: DeferredEvents,
    signal: AbortSignal,
  ): Promise<"broken" | "unimplemented"> {
    try {
      for await (const event of this.#options.runtime.events(signal)) {
        const { podUid, kind } = event;
        if (podUid === undefined || this.#options.inspector.isKnown(podUid, event)) continue;
        if (kind !== "stopped" || this.#options.inspector.isBeingInspected(podUid)) deferred.note(podUid, event);
        else this.#inspectStopped(event, podUid, inspections);
      }
    } catch (error) {
      if (isRuntimeError(error, "unimplemented")) return "unimplemented";
      if (isRuntimeError(error, "resourceExhausted")) this.#options.plegMetrics?.discarded.increment();
      if (!signal.aborted) this.#options.log.info(2, "The stream of runtime events broke", { error: String(error) });
    }
    return "broken";
  }

  #inspectStopped(event: ContainerEvent, uid: string, inspections: KeyedWorker<string>): void {
    const isSeen = this.#options.inspector.isKnown(uid, { ...event, kind: "created" });
    if (isSeen && !inspections.isBusy(uid)) this.#ended.add(uid);
    inspections.wake(uid);
  }

  async #relistUntilBroken(
    inspections: KeyedWorker<string>,
    stream: Promise<"broken" | "unimplemented">,
    signal: AbortSignal,
  ): Promise<"broken" | "unimplemented"> {
    const { clock, random } = this.#options;
    const end: { how?: "broken" | "unimplemented"; wake?: () => void } = {};
    // Subscribe once: racing the stream at every wait would leave a pending reaction on it each time.
    void stream.then((how) => {
      end.how = how;
      end.wake?.();
    });
    for (;;) {
      const waitMs = RELIST_MS_MIN + random.fraction() * (RELIST_MS_MAX - RELIST_MS_MIN);
      using nap = linkSignals(signal);
      end.wake = () => nap.abort(undefined);
      if (end.how === undefined) await pause(clock, waitMs, nap.signal);
      signal.throwIfAborted();
      if (end.how !== undefined) return end.how;
      this.#options.heartbeat.beat();
      await this.#relist(inspections, signal);
    }
  }

  async #relist(inspections: KeyedWorker<string>, signal: AbortSignal): Promise<void> {
    const { runtime, inspector, clock } = this.#options;
    const { completedMutations } = inspector;
    const sinceMs = clock.monotonicMs();
    const [sandboxes, containers] = await Promise.all([
      runtime.listSandboxes({}, signal),
      runtime.listContainers({}, signal),
    ]);
    const listings = listingByPod(sandboxes, containers);
    this.#measure(sinceMs);
    inspector.noteListing(listings, completedMutations);
    for (const uid of this.#retryMs.keys()) if (!listings.has(uid)) this.#succeeded(uid);
    this.#options.listedSandboxes.set(sandboxes);
    for (const [uid, listing] of listings) if (inspector.isNews(uid, listing)) inspections.wake(uid);
  }

  #measure(sinceMs: number): void {
    const { clock, plegMetrics } = this.#options;
    const nowMs = clock.monotonicMs();
    plegMetrics?.relists.observe((nowMs - sinceMs) / 1000);
    if (this.#lastListedMs !== undefined) plegMetrics?.intervals.observe((nowMs - this.#lastListedMs) / 1000);
    plegMetrics?.lastSeen.set(Math.floor(clock.wallMs() / 1000));
    this.#lastListedMs = nowMs;
  }

  async #inspect(uid: string, { inspections, deferred, retries }: Inspections, signal: AbortSignal): Promise<void> {
    try {
      const { inspector } = this.#options;
      const { sandboxes, containers } = await (this.#ended.delete(uid)
        ? inspector.refresh(uid, { sandboxIds: [], containers: [] }, signal)
        : inspector.inspect(uid, signal));
      this.#succeeded(uid);
      // The event reported a part without our label, created by someone else: only the full list shows it.
      const isNowhere = sandboxes.length === 0 && containers.length === 0;
      if (deferred.takeAppeared(uid) && isNowhere) await this.#relist(inspections, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#options.log.error("Failed to get the status of a pod from the runtime", error, { uid });
      const retryMs = this.#retryMs.get(uid) ?? RETRY_MS_MIN;
      this.#retryMs.set(uid, Math.min(2 * retryMs, RETRY_MS_MAX));
      retries.wakeIn(uid, retryMs);
      const { statusFailures } = this.#options;
      if (statusFailures.get(uid) === undefined) statusFailures.set(uid, errorText(error));
    }
  }

  #succeeded(uid: string): void {
    this.#retryMs.delete(uid);
    this.#options.statusFailures.delete(uid);
  }
}

interface Inspections {
  readonly inspections: KeyedWorker<string>;
  readonly deferred: DeferredEvents;
  readonly retries: TimerQueue<string>;
}

/** Events that wait for an inspection by someone else before they cause one. */
class DeferredEvents {
  readonly #timers: TimerQueue<string>;
  readonly #waiting = new Map<string, ContainerEvent[]>();
  /** Pods that are inspected because something was created or started. */
  readonly #appeared = new Set<string>();

  constructor(clock: Clock, inspector: PodInspector, inspect: (uid: string) => void) {
    this.#timers = new TimerQueue<string>(clock, (uid) => {
      const events = this.#waiting.get(uid) ?? [];
      this.#waiting.delete(uid);
      // A worker inspects what it creates. A stop in the meantime needs its own inspection.
      const isWorkers = inspector.isBeingMutated(uid) && events.every(({ kind }) => kind !== "stopped");
      if (isWorkers || events.every((event) => inspector.isKnown(uid, event))) return;
      if (events.some(({ kind }) => kind === "created" || kind === "started")) this.#appeared.add(uid);
      inspect(uid);
    });
  }

  note(uid: string, event: ContainerEvent): void {
    const waiting = this.#waiting.get(uid) ?? [];
    this.#waiting.set(uid, [...waiting, event]);
    if (waiting.length === 0) this.#timers.wakeIn(uid, DEFERRED_MS);
  }

  takeAppeared(uid: string): boolean {
    return this.#appeared.delete(uid);
  }

  close(): void {
    this.#timers.close();
  }
}
