/**
 * The open streams: limits their number per pod, cuts idle ones, and records why each one ended. A stream is one
 * upgraded connection, however many channels it carries.
 */
import type { StreamMetrics } from "../../domain/metrics/stream-metrics.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { STREAMS_PER_POD_MAX } from "../limits.ts";
import { HttpError } from "../route.ts";

export type StreamVerb = "exec" | "attach" | "portForward";

/**
 * "runtime": the runtime sent its last data (the command ended); "client": the client left; "idle": idle timeout;
 * "shutdown": this process stops; "failed": an error.
 */
export type StreamEnd = "runtime" | "client" | "idle" | "shutdown" | "failed";

/** Passed through unchanged, translated, or tunnelled. */
export type Carried = "piped" | "translated" | "tunnelled";

/** The external reasons for ending a stream. */
export interface StreamLife {
  readonly signal: AbortSignal;
  /** Called after the abort. */
  readonly why: () => StreamEnd;
}

export interface StreamSession extends Disposable {
  /** Aborts when the stream must be closed at once. */
  readonly cut: AbortSignal;
  carried: Carried;
  /** Records transferred bytes and resets the idle timeout. */
  active(bytes: number): void;
  /** The first reason counts. */
  end(reason: StreamEnd): void;
}

export class StreamSessions {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #idleLimitMs: number;
  readonly #perPod = new Map<string, number>();
  readonly #metrics: StreamMetrics;

  /** An `idleLimitMs` of 0 means no limit. */
  constructor(clock: Clock, log: Log, idleLimitMs: number, metrics: StreamMetrics) {
    this.#metrics = metrics;
    this.#clock = clock;
    this.#log = log;
    this.#idleLimitMs = idleLimitMs;
  }

  /** Rejects with 429 if the pod has too many streams. */
  open(verb: StreamVerb, podUid: string, life: StreamLife): StreamSession {
    const ofPod = this.#perPod.get(podUid) ?? 0;
    if (ofPod >= STREAMS_PER_POD_MAX)
      throw new HttpError(429, `the pod has ${ofPod} streams open, no more are allowed`);
    this.#perPod.set(podUid, ofPod + 1);
    this.#metrics.open.add(1, verb);
    return this.#session(verb, podUid, life);
  }

  /** Counts a WebSocket that is translated or tunnelled here instead of being passed through. */
  webSocketAsked(verb: StreamVerb): void {
    this.#metrics.webSockets.increment(verb.toLowerCase());
  }

  #session(verb: StreamVerb, podUid: string, { signal, why }: StreamLife): StreamSession {
    const cut = new AbortController();
    const startMs = this.#clock.monotonicMs();
    let reason: StreamEnd | undefined;
    let moved = 0;
    const cutFor = (end: StreamEnd) => {
      reason ??= end;
      cut.abort(new Error(`the stream is cut: ${end}`));
    };
    const onAbort = () => cutFor(why());
    const idle = this.#idleWatch(() => cutFor("idle"));
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const session: StreamSession = {
      cut: cut.signal,
      carried: "piped",
      active: (bytes) => {
        moved += bytes;
        idle.active();
      },
      end: (given) => {
        reason ??= given;
      },
      [Symbol.dispose]: () => {
        idle.stop();
        signal.removeEventListener("abort", onAbort);
        const { carried } = session;
        const end = reason ?? "failed";
        this.#left(podUid);
        this.#metrics.open.add(-1, verb);
        this.#metrics.closed.increment(carried, end, verb);
        const ms = this.#clock.monotonicMs() - startMs;
        this.#log.info(2, "A stream ended", { verb, podUID: podUid, carried, reason: end, ms, bytes: moved });
      },
    };
    return session;
  }

  #left(podUid: string): void {
    const left = (this.#perPod.get(podUid) ?? 1) - 1;
    if (left === 0) this.#perPod.delete(podUid);
    else this.#perPod.set(podUid, left);
  }

  /** Activity only records the time. When the timer fires, it compares that time and is set again for the rest. */
  #idleWatch(late: () => void): { active(): void; stop(): void } {
    const idleLimitMs = this.#idleLimitMs;
    let lastMs = this.#clock.monotonicMs();
    if (idleLimitMs === 0) return { active: () => {}, stop: () => {} };
    let cancel = () => {};
    const arm = (delayMs: number) => {
      cancel = this.#clock.after(delayMs, () => {
        const leftMs = lastMs + idleLimitMs - this.#clock.monotonicMs();
        if (leftMs <= 0) late();
        else arm(leftMs);
      });
    };
    arm(idleLimitMs);
    return {
      active: () => {
        lastMs = this.#clock.monotonicMs();
      },
      stop: () => cancel(),
    };
  }
}
