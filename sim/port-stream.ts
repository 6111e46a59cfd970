/**
 * A stream from the world to one life of an agent. Values arrive in the order they were sent, as events of the virtual
 * clock. The stream ends when the world ends it, when the reader leaves its loop, or when the reader's signal aborts.
 * When the life is cut, the stream falls silent.
 */
import type { Clock } from "../src/ports/clock.ts";

export interface StreamSink<T> {
  send(value: T): void;
  /** Ends the stream after the values sent so far. */
  end(): void;
  /** Fails the stream after the values sent so far, which are still read. */
  fail(error: unknown): void;
}

/** Opens the stream in the world and returns a function that closes it there. Throwing refuses the stream. */
export type StreamSource<T> = (sink: StreamSink<T>) => () => void;

type End = { readonly kind: "ended" } | { readonly kind: "failed"; readonly error: unknown };

export class UnreadLimitError extends Error {
  override readonly name = "UnreadLimitError";
}

export interface StreamOptions {
  /** Maximum number of values that wait for their reader. */
  readonly unreadMax?: number;
  /** Called once the reader knows that the stream is open. */
  readonly onOpen?: () => void;
}

/** The life that the stream belongs to. */
export interface StreamLife {
  readonly clock: Clock;
  /** The call that opens the stream: runs `effect` in the world. */
  readonly open: (effect: () => void) => Promise<void>;
  readonly isAlive: () => boolean;
  /** What is cut together with the life. */
  readonly pending: Set<{ cut(): void }>;
  readonly latencyMs: () => number;
}

export function openPortStream<T>(
  { clock, open, isAlive, pending, latencyMs }: StreamLife,
  signal: AbortSignal,
  source: StreamSource<T>,
  { unreadMax = Number.POSITIVE_INFINITY, onOpen }: StreamOptions,
): AsyncGenerator<T, void, undefined> {
  const unread: T[] = [];
  let end: End | undefined;
  let wake = () => {};
  let closeSource: (() => void) | undefined;
  let lastAtMs = 0;

  /** Keeps the order: no value overtakes one that was sent before it. */
  const later = (arrive: () => void) => {
    const nowMs = clock.monotonicMs();
    lastAtMs = Math.max(lastAtMs, nowMs + latencyMs());
    clock.after(lastAtMs - nowMs, arrive);
  };
  const close = () => {
    pending.delete(held);
    closeSource?.();
    closeSource = undefined;
  };
  const held = { cut: close };
  const finish = (how: End) => {
    end ??= how;
    close();
    wake();
  };
  const sink: StreamSink<T> = {
    send: (value) =>
      later(() => {
        if (end !== undefined || !isAlive()) return;
        if (unread.length >= unreadMax) {
          finish({ kind: "failed", error: new UnreadLimitError(`${unreadMax} values unread`) });
          return;
        }
        unread.push(value);
        wake();
      }),
    end: () => later(() => finish({ kind: "ended" })),
    fail: (error) => later(() => finish({ kind: "failed", error })),
  };

  const opened = open(() => {
    pending.add(held);
    closeSource = source(sink);
  });
  // If the reply gets lost, the world has a stream without a reader, which is closed here.
  opened.catch((error: unknown) => finish({ kind: "failed", error }));

  const more = () =>
    new Promise<void>((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        resolve();
      };
      wake = done;
      signal.addEventListener("abort", done, { once: true });
    });

  return (async function* () {
    try {
      await opened;
      onOpen?.();
      for (;;) {
        signal.throwIfAborted();
        const [value] = unread.splice(0, 1);
        if (value !== undefined) yield value;
        else if (end === undefined) await more();
        else if (end.kind === "failed") throw end.error;
        else return;
      }
    } finally {
      close();
    }
  })();
}
