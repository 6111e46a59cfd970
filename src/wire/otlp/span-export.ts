/**
 * Sends finished spans to a collector, in batches, one call at a time. Adding a span never waits and never fails: the
 * queue is bounded, and when it is full the oldest span is dropped. While the collector is away, spans are kept and
 * retried at growing intervals, and the log reports at most once a minute how many were lost. Closing tries for five
 * seconds to deliver the rest.
 */
import { errorText } from "../../base/error-text.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import type { Attributes, FinishedSpan } from "../../domain/tracing/trace-context.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { RPC_CODE, type RpcChannel, RpcError } from "../grpc/rpc-channel.ts";
import { exportRequest } from "./encode.ts";
import { TraceService } from "./gen/otlp-trace_pb.js";

export interface SpanExportParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Opens a channel to the collector; a new one after each failure. */
  readonly open: () => RpcChannel;
  readonly resource: Attributes;
}

export const QUEUE_MAX = 2048;
export const BATCH_MAX = 512;
export const BATCH_WAIT_MS = 5_000;
const CALL_MS_MAX = 10_000;
const RETRY_MS_MIN = 5_000;
const RETRY_MS_MAX = 30_000;
const TELL_EVERY_MS = 60_000;
export const FLUSH_MS_MAX = 5_000;

type Wait = { readonly kind: "batch" | "retry"; readonly cancel: () => void };

export class SpanExport {
  readonly #parts: SpanExportParts;
  /** Cancels calls in progress when closing takes too long. */
  readonly #end = new AbortController();
  #channel: RpcChannel | undefined;
  #queue: FinishedSpan[] = [];
  #wait: Wait | undefined;
  #sending: Promise<void> | undefined;
  #retryMs = RETRY_MS_MIN;
  #closed = false;
  #lost = 0;
  #reportedMonotonicMs: number | undefined;

  constructor(parts: SpanExportParts) {
    this.#parts = parts;
  }

  add(span: FinishedSpan): void {
    if (this.#closed) return;
    this.#queue.push(span);
    this.#trim();
    if (this.#sending !== undefined || this.#wait?.kind === "retry") return;
    if (this.#queue.length >= BATCH_MAX) this.#begin();
    else this.#wait ??= this.#after("batch", BATCH_WAIT_MS);
  }

  /** Spans added from now on are lost. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#wait?.cancel();
    const flush = async () => {
      await this.#sending;
      if (this.#queue.length > 0) await this.#send();
    };
    try {
      await withDeadline(this.#parts.clock, FLUSH_MS_MAX, this.#end.signal, async (signal) => {
        signal.addEventListener("abort", () => this.#end.abort(signal.reason), { once: true });
        await flush();
      });
    } catch (error) {
      this.#parts.log.info(2, "Failed to send the last traces", { spans: this.#queue.length, err: errorText(error) });
    }
    this.#channel?.close();
  }

  #after(kind: Wait["kind"], delayMs: number): Wait {
    return { kind, cancel: this.#parts.clock.after(delayMs, () => this.#begin()) };
  }

  #begin(): void {
    this.#wait?.cancel();
    this.#wait = undefined;
    this.#sending = this.#send().finally(() => {
      this.#sending = undefined;
      if (!this.#closed && this.#queue.length > 0) this.#wait ??= this.#after("batch", BATCH_WAIT_MS);
    });
  }

  /** Sends until the queue is empty or a call fails. */
  async #send(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH_MAX);
      try {
        await this.#deliver(batch);
        this.#retryMs = RETRY_MS_MIN;
      } catch (error) {
        this.#channel?.close();
        this.#channel = undefined;
        this.#failed(batch, error);
        return;
      }
    }
  }

  async #deliver(batch: readonly FinishedSpan[]): Promise<void> {
    const { clock, open, resource } = this.#parts;
    const channel = (this.#channel ??= open());
    const request = exportRequest(batch, resource);
    const { partialSuccess } = await withDeadline(clock, CALL_MS_MAX, this.#end.signal, (signal) =>
      channel.unary(TraceService.method.export, request, signal),
    );
    if (partialSuccess === undefined || partialSuccess.rejectedSpans === 0n) return;
    this.#lose(Number(partialSuccess.rejectedSpans));
    this.#tell(partialSuccess.errorMessage);
  }

  #failed(batch: readonly FinishedSpan[], error: unknown): void {
    if (isPassing(error)) {
      this.#queue = [...batch, ...this.#queue];
      this.#trim();
    } else {
      this.#lose(batch.length);
    }
    this.#tell(errorText(error));
    if (this.#closed) return;
    this.#wait = this.#after("retry", this.#retryMs);
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX);
  }

  #trim(): void {
    const over = this.#queue.length - QUEUE_MAX;
    if (over <= 0) return;
    this.#queue.splice(0, over);
    this.#lose(over);
  }

  #lose(count: number): void {
    this.#lost += count;
  }

  #tell(err: string): void {
    const now = this.#parts.clock.monotonicMs();
    if (this.#reportedMonotonicMs !== undefined && now - this.#reportedMonotonicMs < TELL_EVERY_MS) return;
    this.#reportedMonotonicMs = now;
    this.#parts.log.info(0, "Failed to send traces", { lost: this.#lost, waiting: this.#queue.length, err });
  }
}

/**
 * Whether the same batch may be accepted later: any error but an answer may pass; of the answers, only these two codes.
 */
const isPassing = (error: unknown): boolean =>
  !(error instanceof RpcError) || error.code === RPC_CODE.unavailable || error.code === RPC_CODE.cancelled;
