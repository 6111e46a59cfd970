/** Runs cases, as many at once as keep the machine busy without crowding it, and keeps what was seen of each. */
import type { Case, World } from "./case.ts";
import { unlike } from "./differences.ts";
import { type Both, see, takeAway } from "./observe.ts";

export type Results = ReadonlyMap<string, Both>;

const AT_ONCE = 14;

/**
 * Both agents have their moments of chance: which of two loops is first, and what the API server's caches know by then. What is otherwise by
 * the way an agent is made is so again.
 */
const TRIES_MAX = 3;

export async function runCases(world: World, cases: readonly Case[]): Promise<Results> {
  const results = new Map(await runOnce(world, cases));
  for (let again = 1; again < TRIES_MAX; again += 1) {
    const unequal = cases.filter((one) => mayRunAgain(one) && isUnlike(one, results));
    if (unequal.length === 0) break;
    console.log(`tried again, as it was not the same: ${unequal.map(({ name }) => name).join(", ")}`);
    const tried = unequal.map((one) => ({ ...one, again }));
    for (const [name, both] of await runOnce(world, tried)) results.set(name, both);
  }
  return results;
}

/** What has been done meanwhile to objects that others use is done. */
const mayRunAgain = ({ meanwhile }: Case): boolean => meanwhile === undefined;

const isUnlike = (one: Case, results: Results): boolean => {
  const both = results.get(one.name);
  return both === undefined || unlike(one, both, new Set()).length > 0;
};

async function runOnce(world: World, cases: readonly Case[]): Promise<Results> {
  const results = new Map<string, Both>();
  const leaving: Promise<void>[] = [];
  const waiting = [...cases];
  const work = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const { name } = one;
      const seen = await see(world, one);
      // A pod that goes needs no turn.
      leaving.push(takeAway(world, one, seen).then((both) => void results.set(name, both)));
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, cases.length) }, work));
  await Promise.all(leaving);
  return results;
}
