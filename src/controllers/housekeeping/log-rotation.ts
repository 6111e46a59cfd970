/**
 * Keeps the logs of running containers within their limits. A log that has reached its size limit is renamed, the
 * runtime reopens the log, and older rotated logs are compressed. Each log is checked at least once per interval, and
 * sooner while it is written to; see `domain/housekeeping/log-rotation.ts`.
 *
 * A kill at any step loses nothing: a missing log is reopened at the next check, and the next rotation removes the
 * remains of a compression. Old logs are deleted first, which needs no disk space: a full disk prevents compression,
 * not rotation.
 */
import { doublingMs } from "../../base/backoff.ts";
import { aborted, type LinkedSignal, linkSignals } from "../../concurrency/abort.ts";
import { KeyedLoop, type Turn } from "../../concurrency/keyed-loop.ts";
import { KeyedWorker } from "../../concurrency/keyed-worker.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import type { Semaphore } from "../../concurrency/semaphore.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { growthPerMs, type LogSize, nextLook, type RotationPolicy } from "../../domain/housekeeping/log-rotation.ts";
import type { PodContainer, PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import type { LogFiles } from "../../ports/log-files.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { compressParts } from "./compress-logs.ts";
import { LogRotationError, rotateLog } from "./rotate-log.ts";

export interface LogRotationOptions {
  readonly runtime: Pick<Runtime, "reopenLog">;
  readonly files: HostFiles;
  readonly logFiles: Pick<LogFiles, "compress">;
  readonly clock: Clock;
  readonly log: Log;
  readonly podRuntimeStatus: ReadonlyTable<string, PodRuntimeView>;
  readonly policy: RotationPolicy;
  /** Limits how many logs are compressed at once. */
  readonly workers: Semaphore;
}

const RETRY_MS_MIN = 1_000;

/** A running container whose log is rotated. */
interface Kept {
  readonly container: PodContainer;
  size: LogSize | undefined;
  failures: number;
  /** The wait for the next write to the log. */
  watch: LinkedSignal | undefined;
  /** The last compression error that was logged. */
  compressionTrouble: string | undefined;
}

export class LogRotation {
  readonly #options: LogRotationOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #idsOfPods = new Map<string, readonly string[]>();
  /** Temporary files that a compression is writing now. */
  readonly #beingWritten = new Set<string>();

  constructor(options: LogRotationOptions) {
    this.#options = options;
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { clock, log, podRuntimeStatus } = this.#options;
    const onBug = (what: string) => (id: string, error: unknown) =>
      log.error(`Unexpected error while ${what} a container log`, error, { containerID: id });
    const compressions = new KeyedWorker<string>({
      turn: (id, signal) => this.#compress(id, signal),
      onBug: onBug("compressing"),
      shutdown,
    });
    const looks: KeyedLoop<string> = new KeyedLoop<string>({
      clock,
      turn: async (id, turn) => {
        if (await this.#look(id, looks, turn)) compressions.wake(id);
      },
      onBug: onBug("rotating"),
      shutdown,
    });
    const note = (uid: string) => this.#note(uid, looks, shutdown);
    looks.watch(podRuntimeStatus, note);
    for (const uid of podRuntimeStatus.keys()) note(uid);
    await looks.run(async () => {
      await aborted(shutdown);
      for (const id of this.#kept.keys()) this.#forget(id);
      await compressions.drained();
    });
  }

  /** Adds running containers and drops all others: a container that does not run writes nothing. */
  #note(uid: string, looks: KeyedLoop<string>, shutdown: AbortSignal): void {
    if (shutdown.aborted) return;
    const running = (this.#options.podRuntimeStatus.get(uid)?.containers ?? []).filter(isKept);
    const ids = running.map(({ id }) => id);
    for (const id of this.#idsOfPods.get(uid) ?? []) {
      if (ids.includes(id)) continue;
      looks.cancelWakeup(id);
      this.#forget(id);
    }
    if (ids.length > 0) this.#idsOfPods.set(uid, ids);
    else this.#idsOfPods.delete(uid);
    for (const container of running) {
      if (this.#kept.has(container.id)) continue;
      const none = { size: undefined, watch: undefined, compressionTrouble: undefined };
      this.#kept.set(container.id, { container, failures: 0, ...none });
      looks.wake(container.id);
    }
  }

  #forget(id: string): void {
    const kept = this.#kept.get(id);
    this.#kept.delete(id);
    if (kept !== undefined) endWatch(kept);
  }

  /** Returns whether there may be something to compress. */
  async #look(id: string, looks: KeyedLoop<string>, { signal, wakeIn }: Turn): Promise<boolean> {
    const { clock, log, policy } = this.#options;
    const kept = this.#kept.get(id);
    if (kept === undefined) return false;
    const isFirst = kept.size === undefined;
    try {
      const { bytes, rotated } = await rotateLog(kept.container, this.#beingWritten, this.#options, signal);
      const atMs = clock.monotonicMs();
      const rate = growthPerMs(kept.size, { bytes, atMs });
      const isQuiet = !rotated && kept.size?.bytes === bytes;
      kept.size = { bytes: rotated ? 0 : bytes, atMs };
      const next = nextLook(kept.size.bytes, rate, policy);
      kept.failures = 0;
      if (!isQuiet) endWatch(kept);
      if (next.kind === "in") wakeIn(Math.min(next.ms, policy.everyMs));
      else if (kept.watch === undefined) this.#lookWhenWritten(kept, next.notBeforeMs, looks);
      wakeIn(policy.everyMs);
      return rotated || isFirst;
    } catch (error) {
      if (signal.aborted) return false;
      const message = error instanceof LogRotationError ? error.step : "a container's log could not be looked at";
      log.error(message, error, { containerID: id, path: kept.container.logPath });
      wakeIn(doublingMs({ firstMs: RETRY_MS_MIN, maxMs: policy.everyMs }, kept.failures + 1));
      kept.failures += 1;
      return false;
    }
  }

  /** While nothing is written, one wait is enough. */
  #lookWhenWritten(kept: Kept, notBeforeMs: number, looks: KeyedLoop<string>): void {
    const { id } = kept.container;
    if (this.#kept.get(id) !== kept) return;
    const watch = linkSignals();
    kept.watch = watch;
    this.#written(kept, notBeforeMs, watch.signal).then(
      () => {
        if (kept.watch === watch) kept.watch = undefined;
        looks.wake(id);
      },
      (error: unknown) => {
        if (watch.signal.aborted) return;
        kept.watch = undefined;
        this.#options.log.error("Failed to watch a container log", error, { path: kept.container.logPath });
      },
    );
  }

  /** The watch exists only while nothing is written: otherwise every line of output would cause a notification. */
  async #written({ container, size }: Kept, notBeforeMs: number, signal: AbortSignal): Promise<void> {
    const { clock, files } = this.#options;
    const { logPath } = container;
    await sleep(clock, notBeforeMs, signal);
    let isFirst = true;
    for await (const _ of files.watch(logPath.slice(0, logPath.lastIndexOf("/")), signal)) {
      if (!isFirst) return;
      isFirst = false;
      // The log was written to before the watch existed.
      if ((await files.facts(logPath))?.sizeBytes !== size?.bytes) return;
    }
    signal.throwIfAborted();
  }

  async #compress(id: string, signal: AbortSignal): Promise<void> {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    const { log } = this.#options;
    const trouble = await compressParts(kept.container.logPath, this.#beingWritten, this.#options, signal);
    if (signal.aborted) return;
    if (trouble !== undefined && trouble.message !== kept.compressionTrouble) {
      log.error("Failed to compress a rotated container log; the log stays uncompressed", trouble, { containerID: id });
    }
    kept.compressionTrouble = trouble?.message;
  }
}

function endWatch(kept: Kept): void {
  kept.watch?.abort(new Error("it is not waited for any longer"));
  kept.watch = undefined;
}

const isKept = ({ state, logPath }: PodContainer): boolean => state === "running" && logPath.startsWith("/");
