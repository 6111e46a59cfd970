import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { clockContract } from "../../../test/contract/clock-contract.ts";
import { hostClock } from "./clock.ts";

clockContract("the machine's clock", () => ({
  clock: hostClock,
  pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}));

test("a delay beyond setTimeout's maximum fires at its end, and can be cancelled in between", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const fired: string[] = [];
    hostClock.after(2 ** 31 + 10, () => fired.push("kept"));
    const cancel = hostClock.after(2 ** 31 + 10, () => fired.push("cancelled"));
    mock.timers.tick(2 ** 31 - 1);
    cancel();
    mock.timers.tick(10);
    assert.deepEqual(fired, []);
    mock.timers.tick(1);
    assert.deepEqual(fired, ["kept"]);
  } finally {
    mock.timers.reset();
  }
});
