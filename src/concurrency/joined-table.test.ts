import assert from "node:assert/strict";
import { test } from "node:test";
import { JoinedTable } from "./joined-table.ts";
import { LatestTable } from "./latest-table.ts";

function world() {
  const [left, right] = [new LatestTable<string, number>(), new LatestTable<string, number>()];
  return { left, right, both: new JoinedTable<string, number>([left, right], (first, next) => first * 10 + next) };
}

test("joined table folds a key's values from its tables, in their order", () => {
  const { left, right, both } = world();
  right.set("a", 2);
  right.set("b", 3);
  left.set("a", 1);
  assert.deepEqual([both.get("a"), both.get("b"), both.get("c")], [12, 3, undefined]);
  assert.deepEqual([both.keys().toSorted(), both.size], [["a", "b"], 2]);
  left.delete("a");
  assert.equal(both.get("a"), 2);
});

test("joined table notifies a watcher of changes in any table until the watch ends", () => {
  const { left, right, both } = world();
  const heard: string[] = [];
  const end = both.watch((key) => heard.push(key));
  left.set("a", 1);
  right.set("b", 1);
  end();
  right.set("c", 1);
  assert.deepEqual(heard, ["a", "b"]);
});
