import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { keptLog } from "../../test/support/quiet-log.ts";
import { Turns } from "../concurrency/turns.ts";
import { loopsSign, runService } from "./compose-service.ts";

function begin(everyMs: number) {
  const clock = new ManualClock();
  const said: string[] = [];
  const manager = {
    tell: (news: string) => {
      said.push(`${clock.monotonicMs()} ${news}`);
      return Promise.resolve();
    },
  };
  const random = { fraction: () => 0, uuid: () => assert.fail("nobody needs a name") };
  const wiring = { manager, watchdog: { kind: "on", everyMs } as const, clock, random, log: keptLog() };
  return { clock, said, wiring, stop: new AbortController(), ready: Promise.withResolvers<void>() };
}

test("[1.18] the watchdog is fed only while every loop turns", async () => {
  const { clock, said, wiring, stop, ready } = begin(10_000);
  const turns = new Turns(clock);
  turns.note("lease");
  turns.note("sync loop");
  const running = runService(wiring, [loopsSign(turns, 15_000)], ready.promise, stop.signal);
  await clock.advance(10_000);
  turns.note("sync loop");
  await clock.advance(10_000);
  assert.deepEqual(said, ["0 alive", "10000 alive"], "the lease took no turn for 20 s");
  turns.note("lease");
  await clock.advance(10_000);
  assert.deepEqual(said.slice(2), [], "now the sync loop is late");
  turns.note("sync loop");
  await clock.advance(10_000);
  assert.deepEqual(said.slice(2), []);
  for (const loop of ["lease", "sync loop"]) turns.note(loop);
  await clock.advance(10_000);
  assert.deepEqual(said.slice(2), ["50000 alive"]);
  stop.abort(new Error("enough"));
  await running;
});

test("[1.18] ready is said when health answers, stopping at the end, and an end before that is not taken for a beginning", async () => {
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
