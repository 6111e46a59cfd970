import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { keptLog } from "../../test/support/quiet-log.ts";
import { LoopHeartbeats } from "../concurrency/loop-heartbeats.ts";
import { loopsCheck, runService } from "./compose-service.ts";

function begin(everyMs: number) {
  const clock = new ManualClock();
  const said: string[] = [];
  const manager = {
    notify: (state: string) => {
      said.push(`${clock.monotonicMs()} ${state}`);
      return Promise.resolve();
    },
  };
  const random = { fraction: () => 0, uuid: () => assert.fail("nobody needs a name") };
  const wiring = { manager, watchdog: { kind: "on", everyMs } as const, clock, random, log: keptLog() };
  return { clock, said, wiring, stop: new AbortController(), ready: Promise.withResolvers<void>() };
}

test("[1.18] the watchdog is notified only while every loop is within its own limit", async () => {
  const { clock, said, wiring, stop, ready } = begin(10_000);
  const heartbeats = new LoopHeartbeats(clock);
  const lease = heartbeats.expect("lease", 15_000);
  const slow = heartbeats.expect("sync loop", 35_000);
  lease.beat();
  slow.beat();
  const running = runService(wiring, [loopsCheck(heartbeats)], ready.promise, stop.signal);
  await clock.advance(20_000);
  assert.deepEqual(said, ["0 alive", "10000 alive"], "the lease took no turn for 20 s");
  lease.beat();
  await clock.advance(10_000);
  assert.deepEqual(said.slice(2), ["30000 alive"]);
  lease.beat();
  await clock.advance(10_000);
  assert.deepEqual(said.slice(3), [], "now the sync loop is late");
  slow.beat();
  const outside = Promise.withResolvers<void>();
  const waiting = lease.waits(outside.promise);
  await clock.advance(30_000);
  assert.deepEqual(said.slice(3), ["50000 alive", "60000 alive", "70000 alive"], "who waits is not missed");
  outside.resolve();
  stop.abort(new Error("enough"));
  await Promise.all([running, waiting]);
});

test("[1.18] READY is sent once health answers, STOPPING at the end, and no READY when the end comes first", async () => {
  const first = begin(1e9);
  const running = runService(first.wiring, [], first.ready.promise, first.stop.signal);
  await first.clock.advance(1_000);
  assert.deepEqual(first.said, ["0 alive"]);
  first.ready.resolve();
  await first.clock.advance(1_000);
  first.stop.abort(new Error("enough"));
  await running;
  assert.deepEqual(first.said.slice(1), ["1000 ready", "2000 stopping"]);

  const second = begin(1e9);
  const ending = runService(second.wiring, [], second.ready.promise, second.stop.signal);
  second.stop.abort(new Error("enough"));
  await ending;
  assert.deepEqual(second.said.slice(1), ["0 stopping"]);
});
