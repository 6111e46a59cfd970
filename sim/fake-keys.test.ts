import assert from "node:assert/strict";
import { test } from "node:test";
import { keysContract } from "../test/contract/keys-contract.ts";
import { FakeKeys, fakeVerify } from "./fake-keys.ts";
import { SeededRandom } from "./seeded-random.ts";

keysContract("the simulator's keys", () => new FakeKeys(new SeededRandom("keys")), fakeVerify);

test("the same seed makes the same keys", () => {
  const [a, b] = [1, 1].map((seed) => new FakeKeys(new SeededRandom(seed)).make());
  assert.equal(a, b);
});
