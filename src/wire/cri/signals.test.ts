import assert from "node:assert/strict";
import { test } from "node:test";
import { Signal } from "./gen/api_pb.js";
import { fromSignal, toSignal } from "./signals.ts";

const numbers = Object.values(Signal).filter((value) => typeof value === "number");

test("toSignal accepts the API's names (SIGRTMIN+3), not CRI's (SIGRTMINPLUS3)", () => {
  assert.equal(toSignal("SIGRTMIN+3"), Signal.SIGRTMINPLUS3);
  assert.equal(toSignal("SIGRTMAX-14"), Signal.SIGRTMAXMINUS14);
  assert.equal(toSignal("SIGTERM"), Signal.SIGTERM);
  assert.throws(() => toSignal("SIGRTMINPLUS3"), { code: "invalidArgument" });
});

test("every CRI signal maps to a name and back", () => {
  assert.equal(numbers.length, 66);
  for (const number of numbers) assert.equal(toSignal(fromSignal(number)), number);
});

test("RUNTIME_DEFAULT has no name, and an unknown signal number is rejected", () => {
  assert.equal(fromSignal(Signal.RUNTIME_DEFAULT), undefined);
  assert.throws(() => fromSignal(numbers.length), { name: "Malformed" });
});
