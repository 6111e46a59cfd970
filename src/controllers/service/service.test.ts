import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { raceAbort } from "../../concurrency/abort.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { feedWatchdog, notifyService, notifyUntilAcknowledged, type WatchdogCheck } from "./service.ts";

function begin(tell: (count: number, signal: AbortSignal) => Promise<void> = () => Promise.resolve()) {
  const clock = new ManualClock();
  const said: string[] = [];
  const errors: string[] = [];
  const stop = new AbortController();
  const parts = {
    clock,
    random: { fraction: () => 0.5, uuid: () => assert.fail("nobody needs a name") },
    log: {
      info: () => {},
      error: (message: string, error: unknown) => void errors.push(`${message}: ${String(error)}`),
    },
    manager: {
      notify: (state: string, signal: AbortSignal) => {
        said.push(`${clock.monotonicMs()} ${state}`);
        return tell(said.length, signal);
      },
    },
  };
  return { clock, said, errors, stop, parts };
}

const well: WatchdogCheck = { name: "ping", check: () => undefined };

test("[1.18] the watchdog is notified at once and then at its interval", async () => {
  const { clock, said, errors, stop, parts } = begin();
  const feeding = feedWatchdog(15_000, [well], parts, stop.signal);
  await clock.advance(44_000);
  assert.deepEqual([said, errors], [["0 alive", "15000 alive", "30000 alive"], []]);
  stop.abort(new Error("enough"));
  await feeding;
  assert.equal(clock.timersPending, 0);
});

test("[1.18] the watchdog is not notified while a check fails or throws, and the log names the check", async () => {
  const { clock, said, errors, stop, parts } = begin();
  let state: "well" | "ill" | "broken" = "ill";
  const other: WatchdogCheck = {
    name: "syncloop",
    check: () => {
      if (state === "broken") throw new Error("no log");
      return state === "ill" ? "sync Loop took longer than expected" : undefined;
    },
  };
  const feeding = feedWatchdog(10_000, [well, other], parts, stop.signal);
  await clock.advance(5_000);
  state = "broken";
  await clock.advance(10_000);
  state = "well";
  await clock.advance(10_000);
  const unhealthy = "Do not notify watchdog this iteration as the kubelet is reportedly not healthy: Error: checker";
  assert.deepEqual(said, ["20000 alive"]);
  assert.deepEqual(errors, [
    `${unhealthy} syncloop failed: sync Loop took longer than expected`,
    `${unhealthy} syncloop failed: no log`,
  ]);
  stop.abort(new Error("enough"));
  await feeding;
});

test("[1.18] a failed notification is retried after a second until it succeeds; the times after it stay the same", async () => {
  const { clock, said, errors, stop, parts } = begin((count) =>
    count === 1 || count > 4 ? Promise.resolve() : Promise.reject(new Error("no socket")),
  );
  const feeding = feedWatchdog(10_000, [well], parts, stop.signal);
  await clock.advance(30_000);
  assert.deepEqual(said, [
    "0 alive",
    "10000 alive",
    "11050 alive",
    "12100 alive",
    "13150 alive",
    "20000 alive",
    "30000 alive",
  ]);
  assert.deepEqual(errors, Array(3).fill("Failed to notify the service manager: Error: no socket"));
  stop.abort(new Error("enough"));
  await feeding;
});

test("[1.18] a service manager that does not respond for a while is notified before its timeout", async () => {
  const heardMs: number[] = [];
  const { clock, stop, parts } = begin(async (_, signal) => {
    const isDeaf = clock.monotonicMs() > 1_000 && clock.monotonicMs() < 45_000;
    if (isDeaf) await raceAbort(new Promise<void>(() => {}), signal);
    heardMs.push(clock.monotonicMs());
  });
  const feeding = feedWatchdog(30_000, [well], parts, stop.signal);
  await clock.advance(120_000);
  assert.deepEqual(heardMs, [0, 48_150, 60_000, 90_000, 120_000]);
  stop.abort(new Error("enough"));
  await feeding;
});

test("[1.18] a slow notification does not delay the next", async () => {
  const { clock, said, stop, parts } = begin(() => sleep(clock, 4_000, stop.signal));
  const feeding = feedWatchdog(10_000, [well], parts, stop.signal);
  await clock.advance(25_000);
  assert.deepEqual(said, ["0 alive", "10000 alive", "20000 alive"]);
  stop.abort(new Error("enough"));
  await feeding;
});

test("[1.18] ready is sent with growing waits until it succeeds or the agent ends", async () => {
  const { clock, said, errors, stop, parts } = begin((count) =>
    count < 8 ? Promise.reject(new Error("no socket")) : Promise.resolve(),
  );
  const notified = notifyUntilAcknowledged("ready", parts, stop.signal);
  await clock.advance(60_000);
  await notified;
  const triedMs = said.map((text) => Number(text.split(" ")[0]));
  assert.deepEqual(triedMs, [0, 1_050, 3_150, 7_350, 15_750, 24_150, 32_550, 40_950]);
  assert.equal(errors.length, 7);

  const other = begin((_, signal) => raceAbort(new Promise<void>(() => {}), signal));
  const waiting = notifyUntilAcknowledged("ready", other.parts, other.stop.signal);
  await other.clock.advance(100_000);
  assert.ok(other.said.length > 8);
  other.stop.abort(new Error("enough"));
  await waiting;
  assert.equal(other.clock.timersPending, 0);
});

test("a notification without a response is given up within five seconds", async () => {
  const { clock, said, errors, parts } = begin((_, signal) => raceAbort(new Promise<void>(() => {}), signal));
  const notified = notifyService("stopping", parts, new AbortController().signal);
  await clock.advance(5_000);
  assert.equal(await notified, false);
  assert.deepEqual([said.length, errors.length], [1, 1]);
});
