/**
 * The simulator's guarantee about time: a day of many nodes passes in seconds, and two runs from one seed are
 * identical.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { SeededRandom } from "../../sim/seeded-random.ts";
import { VirtualClock } from "../../sim/virtual-clock.ts";
import { sleep } from "../../src/concurrency/sleep.ts";
import { figure } from "../figures.ts";
import { seed, wholeSize } from "../size.ts";

const DAY_MS = 24 * 3_600_000;
const NODES = wholeSize() ? 500 : 5;
/** The mean interval at which each node wakes: about the pace of a lease. */
const PERIOD_MS = 60_000;

/** Every node wakes with jitter for a day; one hash covers the order of all wakeups. */
async function day(): Promise<{ readonly wakings: number; readonly order: string }> {
  const clock = new VirtualClock();
  const random = new SeededRandom(seed());
  const order = createHash("sha256");
  const end = new AbortController();
  let wakings = 0;
  const node = async (name: string) => {
    const own = random.split(name);
    for (;;) {
      await sleep(clock, PERIOD_MS * (0.5 + own.fraction()), end.signal);
      wakings += 1;
      order.update(`${name}@${clock.monotonicMs()}\n`);
    }
  };
  const nodes = Array.from({ length: NODES }, (_, index) => node(`node-${index}`));
  await clock.advance(DAY_MS);
  end.abort();
  const ends = await Promise.allSettled(nodes);
  assert.ok(ends.every(({ status }) => status === "rejected"));
  assert.equal(clock.pending, 0);
  return { wakings, order: order.digest("hex") };
}

test("a day of every node passes, and a second day from the same seed is identical", async () => {
  const startedMs = performance.now();
  const first = await day();
  const seconds = (performance.now() - startedMs) / 1000;
  assert.ok(first.wakings > NODES * (DAY_MS / PERIOD_MS) * 0.9, `${first.wakings} wakings`);
  assert.deepEqual(await day(), first);
  figure("nodes", NODES, "nodes");
  figure("wakings in a virtual day", first.wakings, "wakings");
  figure("a virtual day took", Math.round(seconds * 100) / 100, "s");
  figure("wakings per second", Math.round(first.wakings / seconds), "1/s");
});
