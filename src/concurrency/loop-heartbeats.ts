/**
 * Tracks the expected loops and when each last took a turn. A loop is late when it takes no turn within its limit,
 * unless it waits for an external event. A loop that has not begun is late after `FIRST_MS_MAX`.
 */
import type { Clock } from "../ports/clock.ts";

/** A loop's handle for reporting its turns. */
export interface Heartbeat {
  /** Reports the beginning of a turn. */
  beat(): void;
  /** Waits for `outside`, during which the loop is never late. Counts as a turn at the beginning and at the end. */
  waits<T>(outside: Promise<T>): Promise<T>;
}

/** What precedes a loop's first turn is not under its control, so it gets this long. */
const FIRST_MS_MAX = 300_000;

interface Expected {
  readonly limitMs: number;
  /** When the last turn began; before the first turn, when the loop was registered. */
  sinceMs: number;
  hasBegun: boolean;
  waits: number;
}

export class LoopHeartbeats {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #loops = new Map<string, Expected>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Registers a loop from now on. `limitMs` is the longest time that a healthy loop can go without a turn. */
  expect(loop: string, limitMs: number): Heartbeat {
    const expected = { limitMs, sinceMs: this.#clock.monotonicMs(), hasBegun: false, waits: 0 };
    this.#loops.set(loop, expected);
    const beat = () => {
      expected.sinceMs = this.#clock.monotonicMs();
      expected.hasBegun = true;
    };
    return {
      beat,
      waits: async (outside) => {
        beat();
        expected.waits += 1;
        try {
          return await outside;
        } finally {
          expected.waits -= 1;
          beat();
        }
      },
    };
  }

  get names(): readonly string[] {
    return [...this.#loops.keys()].toSorted();
  }

  /** On the monotonic clock; undefined before the first turn. */
  lastMs(loop: string): number | undefined {
    const expected = this.#loops.get(loop);
    return expected?.hasBegun === true ? expected.sinceMs : undefined;
  }

  /** The late loops, each with the time since its last turn. */
  late(): readonly string[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#loops].toSorted(byName).flatMap(([loop, { limitMs, sinceMs, hasBegun, waits }]) => {
      const silentMs = nowMs - sinceMs;
      const isLate = waits === 0 && silentMs > (hasBegun ? limitMs : FIRST_MS_MAX);
      if (!isLate) return [];
      return [`${loop} (${hasBegun ? "no turn" : "not begun"} for ${Math.round(silentMs / 1000)} s)`];
    });
  }
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);
