import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import { feedWatchdog, tellService, type VitalSign } from "./service.ts";

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
      tell: (news: string, signal: AbortSignal) => {
        said.push(`${clock.monotonicMs()} ${news}`);
        return tell(said.length, signal);
      },
    },
  };
  return { clock, said, errors, stop, parts };
}

const well: VitalSign = { name: "ping", check: () => undefined };

test("[1.18] the watchdog is fed at once and then at its interval", async () => {
  const { clock, said, errors, stop, parts } = begin();
  const feeding = feedWatchdog(15_000, [well], parts, stop.signal);
  await clock.advance(44_000);
  assert.deepEqual([said, errors], [["0 alive", "15000 alive", "30000 alive"], []]);
  stop.abort(new Error("enough"));
  await feeding;
  assert.equal(clock.timersPending, 0);
});

test("[1.18] while a check fails, or throws, the watchdog is not fed, and the log says which it was", async () => {
  const { clock, said, errors, stop, parts } = begin();
  let state: "well" | "ill" | "broken" = "ill";
  const other: VitalSign = {
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

test("[1.18] what could not be said is said once more after a second, and then given up until the next time", async () => {
  const { clock, said, errors, stop, parts } = begin((count) =>
    count === 2 ? Promise.resolve() : Promise.reject(new Error("no socket")),
  );
  const feeding = feedWatchdog(10_000, [well], parts, stop.signal);
  await clock.advance(1_050);
  assert.deepEqual([said, errors], [["0 alive", "1050 alive"], []]);
  await clock.advance(12_000);
  assert.deepEqual(said.slice(2), ["11050 alive", "12100 alive"]);
  assert.deepEqual(errors, ["The service manager could not be told: Error: no socket"]);
  stop.abort(new Error("enough"));
  await feeding;
});

test("a service manager that does not listen holds nobody up", async () => {
  const { clock, said, errors, stop, parts } = begin((_, signal) => unlessAborted(new Promise<void>(() => {}), signal));
  const telling = tellService("ready", parts, stop.signal);
  await clock.advance(20_000);
  await telling;
  assert.deepEqual([said.length, errors.length], [2, 1]);
});
