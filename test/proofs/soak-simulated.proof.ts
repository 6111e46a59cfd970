/**
 * A node that works for simulated hours. Measured after garbage collections, nothing that the agent holds may grow
 * between the end of the warm-up and the end of the run. Small size: a warm-up of half an hour, then three quarters of
 * an hour. Whole size: a day, with a warm-up until every bounded table is full.
 */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { queryObjects, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { leaks } from "../../sim/faulty-agents.ts";
import { LongLife, type LongLifeOptions } from "../../sim/long-life.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";
import { AbortListeners } from "../support/abort-listeners.ts";

const SIZE = wholeSize() ? { warmUpHours: 8, hours: 24 } : { warmUpHours: 0.5, hours: 1.25 };
/** The agents that leak on purpose show their leak at once. */
const UNTIL_FOUND = { warmUpHours: 0.25, hours: 0.75 };
const MB = 1e6;

interface Held {
  readonly heapBytes: number;
  readonly timers: number;
  readonly listeners: number;
  readonly promises: number;
}

/** The allowed rise accounts for pods that come and go at the moment of the measurement. */
const RISE_MAX: Readonly<Record<keyof Held, number>> = { heapBytes: 5 * MB, timers: 5, listeners: 10, promises: 30 };

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const listeners = new AbortListeners();

async function look(life: LongLife): Promise<Held> {
  // Weakly held objects are released only when no work is in progress.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  return {
    heapBytes: process.memoryUsage().heapUsed,
    timers: life.world.clock.pending,
    listeners: listeners.count(),
    promises: queryObjects(Promise, { format: "count" }),
  };
}

async function live(hours: typeof SIZE, options: LongLifeOptions = {}) {
  const life = new LongLife(options);
  await life.pass(hours.warmUpHours);
  const first = await look(life);
  await life.pass(hours.hours - hours.warmUpHours);
  const last = await look(life);
  assert.equal(life.failure, undefined);
  const rise = (of: keyof Held) => last[of] - first[of];
  return { life, first, last, rise, grown: MEASURES.filter((of) => rise(of) > RISE_MAX[of]) };
}

const MEASURES = ["heapBytes", "timers", "listeners", "promises"] as const;

void suite("a long simulated run", () => {
  test("[scenario 48] pods come, go, crash and are edited around, logs and certificates are rotated: heap, timers, listeners and promises stay level", async () => {
    const { life, first, last, rise, grown } = await live(SIZE);
    figure("simulated", SIZE.hours, "h");
    figure("pods that came and went", life.made, "pods");
    figure("client certificates", life.certificates, "certificates");
    figure("heap after collection, in the end", Math.round(last.heapBytes / MB), "MB");
    figure("growth of the heap after the warm-up", Math.round((rise("heapBytes") / MB) * 100) / 100, "MB");
    for (const of of MEASURES.slice(1)) {
      figure(`${of} after the warm-up`, first[of], "");
      figure(`${of} in the end`, last[of], "");
    }
    assert.deepEqual(grown, [], `${JSON.stringify(first)} became ${JSON.stringify(last)}`);
    assert.ok(life.certificates >= SIZE.hours * 2 - 1, "the node's certificate was renewed again and again");
  });

  for (const { name, shownBy, change } of leaks) {
    test(`[scenario 48] an agent that ${name} is detected`, async () => {
      const { grown } = await live(UNTIL_FOUND, { change });
      assert.ok(grown.includes(shownBy), `what grew: ${grown.join(", ")}`);
    });
  }
});
