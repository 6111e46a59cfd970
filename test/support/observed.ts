/**
 * What became of the same pods under both agents: some at once, and one that does not come so far takes no other with it. Why it did not is thrown when it
 * is asked for.
 */
import assert from "node:assert/strict";
import { nameOn, SIDES, type Side } from "../golden/sides.ts";

type Outcome<T> = { readonly kind: "seen"; readonly seen: T } | { readonly kind: "failed"; readonly why: unknown };

export class Observed<T> {
  readonly #outcomes = new Map<string, Outcome<T>>();

  /** So many pods at once on each side. */
  async observe(
    names: readonly string[],
    atOnce: number,
    observe: (name: string, side: Side) => Promise<T>,
  ): Promise<void> {
    for (let from = 0; from < names.length; from += atOnce) {
      const batch = names.slice(from, from + atOnce).flatMap((name) => SIDES.map((side) => [name, side] as const));
      await Promise.all(
        batch.map(async ([name, side]) => {
          const outcome = await observe(name, side).then(
            (seen): Outcome<T> => ({ kind: "seen", seen }),
            (why: unknown): Outcome<T> => ({ kind: "failed", why }),
          );
          this.#outcomes.set(nameOn(side, name), outcome);
        }),
      );
    }
  }

  of(name: string, side: Side): T {
    const outcome = this.#outcomes.get(nameOn(side, name)) ?? assert.fail(`${name} was not observed`);
    if (outcome.kind === "failed") throw outcome.why;
    return outcome.seen;
  }
}
