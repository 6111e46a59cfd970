/**
 * Observations of the same pods under each agent that runs. A failed observation does not disturb the others; its error
 * is thrown when it is read.
 */
import assert from "node:assert/strict";
import { nameOn, SIDES, type Side } from "../golden/sides.ts";

type Outcome<T> = { readonly kind: "seen"; readonly seen: T } | { readonly kind: "failed"; readonly why: unknown };

export class Observed<T> {
  readonly #outcomes = new Map<string, Outcome<T>>();

  /** Observes `atOnce` names at a time; when one finishes, the next one starts. */
  async observe(
    names: readonly string[],
    atOnce: number,
    observe: (name: string, side: Side) => Promise<T>,
  ): Promise<void> {
    const waiting = names.values();
    const work = async () => {
      for (const name of waiting) await Promise.all(SIDES.map((side) => this.#note(name, side, observe)));
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }

  async #note(name: string, side: Side, observe: (name: string, side: Side) => Promise<T>): Promise<void> {
    const outcome = await observe(name, side).then(
      (seen): Outcome<T> => ({ kind: "seen", seen }),
      (why: unknown): Outcome<T> => ({ kind: "failed", why }),
    );
    this.#outcomes.set(nameOn(side, name), outcome);
  }

  of(name: string, side: Side): T {
    const outcome = this.#outcomes.get(nameOn(side, name)) ?? assert.fail(`${name} was not observed`);
    if (outcome.kind === "failed") throw outcome.why;
    return outcome.seen;
  }
}
