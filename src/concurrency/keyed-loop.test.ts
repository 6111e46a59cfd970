import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { aborted } from "./abort.ts";
import { KeyedLoop, type KeyedLoopOptions } from "./keyed-loop.ts";
import { LatestTable } from "./latest-table.ts";

function world(options: Partial<KeyedLoopOptions<string>> & Pick<KeyedLoopOptions<string>, "turn">) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const bugs: string[] = [];
  const onBug = (key: string, error: unknown) => bugs.push(`${key}: ${String(error)}`);
  const loop = new KeyedLoop<string>({ clock, onBug, shutdown: stop.signal, ...options });
  const table = new LatestTable<string, number>();
  loop.watch(table, (key) => loop.wake(key));
  const running = loop.run(() => aborted(stop.signal));
  return { clock, stop, bugs, loop, table, running };
}

test("keyed loop runs a turn for a key when a watched table changes and when its wakeup fires", async () => {
  const turns: string[] = [];
  const w = world({
    turn: async (key, { wakeIn }) => {
      turns.push(`${key} at ${w.clock.monotonicMs()}`);
      if (turns.length === 1) wakeIn(500);
    },
  });
  w.table.set("a", 1);
  await w.clock.advance(499);
  assert.equal(turns.length, 1);
  await w.clock.advance(1);
  assert.equal(turns.length, 2);
  w.stop.abort();
  await w.running;
});

test("keyed loop reports a turn that throws, and retries it only if a retry delay is configured", async () => {
  for (const [afterBugMs, triesAfterAnHour] of [
    [1_000, 2],
    [undefined, 1],
  ] as const) {
    let tries = 0;
    const w = world({
      turn: async () => {
        tries += 1;
        if (tries === 1) throw new Error("broken");
      },
      ...(afterBugMs !== undefined && { afterBugMs }),
    });
    w.loop.wake("a");
    await w.clock.advance(3_600_000);
    assert.deepEqual([tries, w.bugs], [triesAfterAnHour, ["a: Error: broken"]]);
    w.stop.abort();
    await w.running;
  }
});

test("keyed loop waits for the running turn at shutdown, and drops its watches and wakeups", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let turns = 0;
  const w = world({
    turn: async (_key, { wakeIn }) => {
      turns += 1;
      wakeIn(1_000);
      await promise;
      wakeIn(1_000);
    },
  });
  w.table.set("a", 1);
  await w.clock.advance(0);
  let hasEnded = false;
  const ended = w.running.then(() => {
    hasEnded = true;
  });
  w.stop.abort();
  await w.clock.advance(0);
  assert.equal(hasEnded, false, "while its turn runs");
  w.table.set("b", 1);
  resolve();
  await ended;
  assert.deepEqual([turns, w.clock.timersPending], [1, 0]);
});

test("keyed loop calls onWakeup for a wakeup that fires, not for a cancelled one", async () => {
  const wakeups: string[] = [];
  const w = world({
    turn: async (_key, { wakeIn }) => wakeIn(1_000),
    onWakeup: (key) => wakeups.push(key),
  });
  w.loop.wake("a");
  w.loop.wake("b");
  await w.clock.advance(0);
  w.loop.cancelWakeup("b");
  await w.clock.advance(1_000);
  assert.deepEqual(wakeups, ["a"]);
  w.stop.abort();
  await w.running;
});
