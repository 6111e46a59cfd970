import assert from "node:assert/strict";
import { test } from "node:test";
import { Signal } from "./gen/api_pb.js";
import { fromSignal, toSignal } from "./signals.ts";

const numbers = Object.values(Signal).filter((value) => typeof value === "number");

test("signal names carry the API's signs, not CRI's words", () => {
  assert.equal(toSignal("SIGRTMIN+3"), Signal.SIGRTMINPLUS3);
  assert.equal(toSignal("SIGRTMAX-14"), Signal.SIGRTMAXMINUS14);
  assert.equal(toSignal("SIGTERM"), Signal.SIGTERM);
  assert.throws(() => toSignal("SIGRTMINPLUS3"), { code: "invalidArgument" });
});

test("every signal of CRI has a name that leads back to it", () => {
  assert.equal(numbers.length, 66);
  for (const number of numbers) assert.equal(toSignal(fromSignal(number)), number);
});

test("the runtime's default has no name, and a number past the last is refused", () => {
  assert.equal(fromSignal(Signal.RUNTIME_DEFAULT), undefined);
  assert.throws(() => fromSignal(numbers.length), { name: "Malformed" });
});
