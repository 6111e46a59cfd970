/**
 * Contract suite of the Clock port, for the machine's clock and the simulator's. `pass` waits on a real clock and
 * advances a virtual one, so the delays here are a few milliseconds.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Clock } from "../../src/ports/clock.ts";

export interface ClockUnderTest {
  readonly clock: Clock;
  readonly pass: (ms: number) => Promise<void>;
}

export function clockContract(name: string, make: () => ClockUnderTest): void {
  describe(`${name} keeps the Clock contract`, () => {
    test("a timer fires once, not before its delay has passed", async () => {
      const { clock, pass } = make();
      const startedMs = clock.monotonicMs();
      const firedMs: number[] = [];
      clock.after(20, () => firedMs.push(clock.monotonicMs()));
      assert.deepEqual(firedMs, []);
      await pass(60);
      assert.equal(firedMs.length, 1);
      // Node.js rounds delays to whole milliseconds of its event loop.
      assert.ok((firedMs[0] ?? 0) - startedMs >= 19, `fired after ${(firedMs[0] ?? 0) - startedMs} ms`);
    });

    test("a canceled timer does not fire, and canceling twice or after it fired does nothing", async () => {
      const { clock, pass } = make();
      let fired = 0;
      const cancel = clock.after(5, () => (fired += 1));
      const cancelLate = clock.after(5, () => (fired += 10));
      cancel();
      cancel();
      await pass(20);
      cancelLate();
      cancelLate();
      assert.equal(fired, 10);
    });

    test("timers fire in the order of their due times", async () => {
      const { clock, pass } = make();
      const order: string[] = [];
      clock.after(30, () => order.push("late"));
      clock.after(10, () => order.push("early"));
      await pass(60);
      assert.deepEqual(order, ["early", "late"]);
    });

    for (const delayMs of [Number.NaN, -1, 0, Number.NEGATIVE_INFINITY]) {
      test(`a delay of ${delayMs} fires on a later event loop turn, not synchronously`, async () => {
        const { clock, pass } = make();
        let fired = false;
        clock.after(delayMs, () => (fired = true));
        assert.equal(fired, false);
        await pass(10);
        assert.equal(fired, true);
      });
    }

    for (const delayMs of [2 ** 31 - 1, 2 ** 31, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY]) {
      test(`a delay of ${delayMs} ms does not fire early`, async () => {
        const { clock, pass } = make();
        let fired = false;
        const cancel = clock.after(delayMs, () => (fired = true));
        await pass(10);
        cancel();
        assert.equal(fired, false);
      });
    }

    test("a timer set by a timer fires too", async () => {
      const { clock, pass } = make();
      const order: string[] = [];
      clock.after(5, () => {
        order.push("first");
        clock.after(5, () => order.push("second"));
      });
      // On a busy machine a timer may fire late, but never early.
      for (let turn = 0; turn < 100 && order.length < 2; turn += 1) await pass(10);
      assert.deepEqual(order, ["first", "second"]);
    });

    test("monotonic and wall time both advance", async () => {
      const { clock, pass } = make();
      const before = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
      await pass(20);
      assert.ok(clock.monotonicMs() - before.monotonicMs >= 19);
      assert.ok(clock.wallMs() - before.wallMs >= 19);
    });
  });
}
