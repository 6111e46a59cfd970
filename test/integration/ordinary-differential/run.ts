/**
 * Runs the cases of a suite, several at a time, keeps the observations of each, and compares them with the recording.
 */
import assert from "node:assert/strict";
import type { Recording } from "../../golden/recording.ts";
import { leavesCasesOut, selected } from "../../golden/selected-cases.ts";
import { SEQUENCE } from "../../golden/sequence.ts";
import { SIDES } from "../../golden/sides.ts";
import type { Case, World } from "./case.ts";
import { type Difference, LOOKS, questionOf } from "./differences.ts";
import { answerOf, type OfSides, removePod, type Seen, see, sequenceAnswer } from "./observe.ts";

/** As many cases as keep the machine busy without overloading it. */
const AT_ONCE = 14;

export class CaseRuns {
  readonly #recording: Recording;
  readonly #ran = new Map<string, { readonly one: Case; readonly seen: OfSides<Seen> }>();
  readonly #troubles = new Map<string, Promise<readonly string[]>>();
  /** Intended differences that Deckhand's answers needed. */
  readonly needed = new Set<Difference>();

  constructor(recording: Recording) {
    this.#recording = recording;
  }

  async run(world: World, all: readonly Case[]): Promise<void> {
    const cases = selected(all);
    const leaving: Promise<void>[] = [];
    const waiting = [...cases];
    const work = async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
        const ran = one;
        const seen = await see(world, ran, this.#recording);
        // A pod that is being deleted does not count toward the limit.
        leaving.push(removePod(world, ran, seen).then((all) => void this.#ran.set(ran.name, { one: ran, seen: all })));
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, cases.length) }, work));
    await Promise.all(leaving);
  }

  /** Asserts that every case of this ledger row equals the recording and that nothing is left of its pods. */
  async alike(row: string): Promise<void> {
    const cases = [...this.#ran.values()].filter(({ one }) => one.rows.includes(row));
    assert.ok(cases.length > 0 || leavesCasesOut, `a case of ${row}`);
    const found = await Promise.all(cases.map(({ one, seen }) => this.#check(one, seen)));
    const troubles = found.flat();
    assert.equal(troubles.length, 0, `${troubles.length} differences in ${cases.length} cases\n${troubles.join("\n")}`);
  }

  /** Compares each case once, even if it belongs to several rows. */
  #check(one: Case, seen: OfSides<Seen>): Promise<readonly string[]> {
    const found = this.#troubles.get(one.name) ?? this.#compare(one, seen);
    this.#troubles.set(one.name, found);
    return found;
  }

  async #compare(one: Case, all: OfSides<Seen>): Promise<readonly string[]> {
    const troubles: string[] = [];
    for (const side of SIDES) {
      const seen = all.get(side) ?? assert.fail(`${one.name} did not run under ${side}`);
      if (seen.kind === "never") troubles.push(`${one.name} never came so far under ${side}: ${seen.why}`);
      else troubles.push(...seen.seen.left.map((what) => `${one.name}: ${what} is left under ${side}`));
    }
    if ([...all.values()].some(({ kind }) => kind === "never")) return troubles;
    for (const part of LOOKS) {
      const check = this.#recording.check(questionOf(one.name, part), (side) => {
        const seen = all.get(side);
        assert.ok(seen?.kind === "seen");
        return answerOf(one, part, seen.seen, side, this.needed);
      });
      await check.catch(({ message }: Error) => troubles.push(message));
    }
    const check = this.#recording.check(questionOf(one.name, SEQUENCE), (side) => {
      const seen = all.get(side);
      assert.ok(seen?.kind === "seen");
      return sequenceAnswer(one, seen.seen.sequence, side, this.needed);
    });
    await check.catch(({ message }: Error) => troubles.push(message));
    return troubles;
  }
}
