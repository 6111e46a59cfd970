/**
 * Which loops there are to be, and when each last took a turn. A loop is late when it took none for longer than its own limit, unless it waits for
 * something that others bring about. One that has not begun is missed too, once there was time for it.
 */
import type { Clock } from "../ports/clock.ts";

/** A loop's own end of it. */
export interface Watch {
  /** A turn begins. */
  turned(): void;
  /** However long the promise takes, nobody misses the loop meanwhile. A turn begins with the waiting, and another one after it. */
  waits<T>(outside: Promise<T>): Promise<T>;
}

/** Every loop begins with a turn; what comes before that is not its own doing, and is given so long. */
const FIRST_MS_MAX = 300_000;

interface Expected {
  readonly limitMs: number;
  /** Of the last turn; before the first, when it was to be expected from. */
  sinceMs: number;
  hasBegun: boolean;
  waits: number;
}

export class Turns {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #loops = new Map<string, Expected>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** From now on. The limit is the longest that the loop can be without a turn while it is well. */
  expect(loop: string, limitMs: number): Watch {
    const expected = { limitMs, sinceMs: this.#clock.monotonicMs(), hasBegun: false, waits: 0 };
    this.#loops.set(loop, expected);
    const turned = () => {
      expected.sinceMs = this.#clock.monotonicMs();
      expected.hasBegun = true;
    };
    return {
      turned,
      waits: async (outside) => {
        turned();
        expected.waits += 1;
        try {
          return await outside;
        } finally {
          expected.waits -= 1;
          turned();
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

  /** Which took none for too long, each with how long that is. */
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
