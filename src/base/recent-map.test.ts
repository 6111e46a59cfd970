import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentMap } from "./recent-map.ts";

test("what was not touched for longest is forgotten first, and reading is touching", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  assert.equal(map.get("a"), 1);
  map.set("c", 3);
  assert.deepEqual([map.get("a"), map.get("b"), map.get("c"), map.size], [1, undefined, 3, 2]);
});

test("a value set again replaces and takes no second place", () => {
  const map = new RecentMap<string, number>(2);
  for (const value of [1, 2, 3]) map.set("a", value);
  assert.deepEqual([map.get("a"), map.size], [3, 1]);
});
