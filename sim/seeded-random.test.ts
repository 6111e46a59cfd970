import assert from "node:assert/strict";
import { test } from "node:test";
import { randomContract } from "../test/contract/random-contract.ts";
import { SeededRandom } from "./seeded-random.ts";

randomContract("seeded randomness", () => new SeededRandom(1));

const draw = (random: SeededRandom) => Array.from({ length: 20 }, () => random.fraction());

test("the same seed gives the same draws, another seed others", () => {
  assert.deepEqual(draw(new SeededRandom(7)), draw(new SeededRandom(7)));
  assert.notDeepEqual(draw(new SeededRandom(7)), draw(new SeededRandom(8)));
});

test("the draws of a seed are the same in every release", () => {
  const random = new SeededRandom(42);
  assert.deepEqual([random.fraction(), random.uuid()], [0.2188063463384684, "415bd9d8-f471-4139-942c-8def0f98eb2a"]);
});

test("a split stream depends on its name and the seed, not on what was drawn before", () => {
  const fresh = new SeededRandom(7);
  const used = new SeededRandom(7);
  draw(used);
  assert.deepEqual(draw(fresh.split("pods")), draw(used.split("pods")));
  assert.notDeepEqual(draw(fresh.split("pods")), draw(fresh.split("images")));
  assert.notDeepEqual(draw(fresh.split("pods")), draw(new SeededRandom(8).split("pods")));
});
