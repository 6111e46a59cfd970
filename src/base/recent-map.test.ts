import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentMap } from "./recent-map.ts";

test("RecentMap evicts the least recently set or read entry", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  assert.equal(map.get("a"), 1);
  map.set("c", 3);
  assert.deepEqual([map.get("a"), map.get("b"), map.get("c"), map.size], [1, undefined, 3, 2]);
});

test("RecentMap replaces the value of an existing key", () => {
  const map = new RecentMap<string, number>(2);
  for (const value of [1, 2, 3]) map.set("a", value);
  assert.deepEqual([map.get("a"), map.size], [3, 1]);
});
