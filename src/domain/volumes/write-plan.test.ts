import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileSet } from "./file-set.ts";
import { directoriesOf, planWrite, setDirectoryName } from "./write-plan.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const set = (files: Readonly<Record<string, string>>): FileSet =>
  new Map(Object.entries(files).map(([path, text]) => [path, { content: bytes(text), mode: 0o644, uid: undefined }]));
const OLD = "..2026_11_15_10_00_00.1";
const present = (files: Readonly<Record<string, string>>, entries: readonly string[]) => ({
  directory: OLD,
  files: set(files),
  entries,
});

test("[27.1.11] an empty directory gets a file set and its links", () => {
  const wanted = set({ a: "1", "d/b": "2" });
  assert.deepEqual(planWrite(wanted, { directory: undefined, files: undefined, entries: [] }, []), {
    write: wanted,
    addLinks: ["a", "d"],
    removeLinks: [],
    removeDirectories: [],
  });
});

test("[27.1.11] an unchanged file set stays, and a missing link is made again", () => {
  const plan = planWrite(set({ a: "1" }), present({ a: "1" }, ["..data", OLD]), []);
  assert.deepEqual(plan, { write: undefined, addLinks: ["a"], removeLinks: [], removeDirectories: [] });
});

test("[27.1.11] new content replaces the file set; stale links and unfinished directories are removed", () => {
  const wanted = set({ a: "2", c: "3" });
  const entries = ["..2026_11_15_09_00_00.77", "..data", "..data_tmp", OLD, "a", "b", "nested"];
  const plan = planWrite(wanted, present({ a: "1", b: "1" }, entries), ["nested/deep"]);
  assert.deepEqual(plan, {
    write: wanted,
    addLinks: ["c"],
    removeLinks: ["b"],
    removeDirectories: ["..2026_11_15_09_00_00.77", OLD],
  });
});

test("a file that became a directory requires a new file set", () => {
  assert.notEqual(planWrite(set({ "a/b": "1" }), present({ a: "1" }, ["..data", OLD, "a"]), []).write, undefined);
});

test("[27.1.11] a file set's directory is named after its time", () => {
  assert.equal(setDirectoryName(Date.UTC(2026, 10, 15, 4, 5, 6), 123), "..2026_11_15_04_05_06.123");
  assert.deepEqual(directoriesOf(set({ "a/b/c": "", "a/d": "", e: "" })), ["a", "a/b"]);
});
