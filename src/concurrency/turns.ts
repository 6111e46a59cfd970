/** When each loop last took a turn. A loop that has not begun, or is not there, is not missed. */
import type { Clock } from "../ports/clock.ts";

export class Turns {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #lastMs = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  note(loop: string): void {
    this.#lastMs.set(loop, this.#clock.monotonicMs());
  }

  /** On the monotonic clock. */
  lastMs(loop: string): number | undefined {
    return this.#lastMs.get(loop);
  }

  /** Which took none for longer than this, by name. */
  late(limitMs: number): readonly string[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#lastMs].flatMap(([loop, lastMs]) => (nowMs - lastMs > limitMs ? [loop] : [])).toSorted();
  }
}
