/** Runs cases, as many at once as keep the machine busy without crowding it, and keeps what was seen of each. */
import type { Case, World } from "./case.ts";
import { type Both, see, takeAway } from "./observe.ts";

export type Results = ReadonlyMap<string, Both>;

const AT_ONCE = 14;

export async function runCases(world: World, cases: readonly Case[], atOnce = AT_ONCE): Promise<Results> {
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
  await Promise.all(Array.from({ length: Math.min(atOnce, cases.length) }, work));
  await Promise.all(leaving);
  return results;
}
