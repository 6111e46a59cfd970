import assert from "node:assert/strict";
import { test } from "node:test";
import { EntryEvents } from "./entry-events.ts";

const recreated = async (names: readonly string[], present: readonly string[], gapMs = 0): Promise<string> => {
  const events = new EntryEvents();
  for (const [index, name] of names.entries()) events.add(name, index * gapMs);
  return [...(await events.takeRecreated(() => Promise.resolve(present)))].join(" ");
};

const cases: readonly (readonly [string, string, readonly string[], string])[] = [
  ["a file that is removed and created", "a a", ["a"], "a"],
  ["several files that are removed, then created", "a b a b", ["a", "b"], "a b"],
  ["a file that is moved out and back, beside one that is removed", "a b a", ["a"], "a"],
  ["a file that is removed, then replaced by a temporary file", "a .t .t a a", ["a"], "a"],
  ["a new file", "a", ["a"], ""],
  ["a removed file", "a", [], ""],
  ["a file that is created and removed", "a a", [], ""],
  ["a file that is replaced by a temporary file", ".t .t a", ["a"], ""],
  ["a file that is replaced twice by temporary files", ".t .t a .u .u a", ["a"], ""],
  ["a file that is replaced while the next replacement begins", ".t .t a .t .t a .t", [".t", "a"], ".t"],
  ["a file that is replaced by a file from another directory", "a", ["a"], ""],
  ["a file that another file is moved onto", "b a", ["a"], ""],
];
for (const [what, names, present, wanted] of cases)
  test(`${what}: recreated is "${wanted}"`, async () =>
    assert.equal(await recreated(names.split(" "), present), wanted));

test("events more than a second apart do not belong together", async () => {
  assert.equal(await recreated(["a", "a"], ["a"], 999), "a");
  assert.equal(await recreated(["a", "a"], ["a"], 1_000), "");
});

test("a recreated entry is named once, and the directory is listed only when a name has two events", async () => {
  const events = new EntryEvents();
  let lists = 0;
  const taken = async () => [...(await events.takeRecreated(async () => ((lists += 1) > 0 ? ["a"] : [])))];
  events.add("a", 0);
  assert.deepEqual([await taken(), lists], [[], 0]);
  events.add("a", 1);
  assert.deepEqual([await taken(), lists], [["a"], 1]);
  assert.deepEqual([await taken(), lists], [[], 1]);
  events.add("a", 2);
  assert.deepEqual([await taken(), lists], [[], 1]);
});

test("a burst of other files is forgotten beyond a limit", async () => {
  const events = new EntryEvents();
  events.add("a", 0);
  for (let index = 0; index < 1_000; index += 1) events.add(`${index}`, 0);
  events.add("a", 0);
  assert.deepEqual([...(await events.takeRecreated(() => Promise.resolve(["a"])))], []);
});
