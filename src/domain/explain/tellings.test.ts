import assert from "node:assert/strict";
import { test } from "node:test";
import { EXPLANATION_BYTES_MAX } from "../limits.ts";
import { NoteDeduplicator } from "./tellings.ts";

const note = (why: string, reason = "Failed", on = "spec.containers{app}", uid = "u1") => ({ uid, on, reason, why });

test("a cause that repeats a thousand times, with other numbers in its text, is kept at every doubling", () => {
  const notes = new NoteDeduplicator();
  const kept = Array.from({ length: 1000 }, (_, index) =>
    notes.observe(note(`dial 10.0.0.${index}: refused, request 5e6f7a8b9c0d1e2f${index}`)),
  ).flatMap((each) => each?.times ?? []);
  assert.deepEqual(kept, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
});

test("causes that take turns are kept each time at first, and then as seldom as one", () => {
  const notes = new NoteDeduplicator();
  let kept = 0;
  for (let turn = 0; turn < 1000; turn += 1) {
    for (const why of ["no image", "no volume"]) if (notes.observe(note(why)) !== undefined) kept += 1;
  }
  assert.ok(kept < 30, `${kept} records`);
  assert.equal(notes.observe(note("something else"))?.times, 1);
});

test("a cause that comes back is kept, and so is every start", () => {
  const notes = new NoteDeduplicator();
  const hear = (why: string, reason?: string) => notes.observe(note(why, reason)) !== undefined;
  assert.deepEqual(
    [hear("a"), hear("a"), hear("a"), hear("b"), hear("a"), hear("a")],
    [true, true, false, true, true, false],
  );
  assert.deepEqual(
    Array.from({ length: 7 }, () => hear("Container started", "Started")),
    Array.from({ length: 7 }, () => true),
  );
});

test("what only echoes is not kept, pods and containers do not share a count, and endless texts are cut", () => {
  const notes = new NoteDeduplicator();
  for (const [reason, why] of [
    ["Failed", "Error: ErrImagePull"],
    ["BackOff", "Back-off pulling image"],
    ["Created", "Container created"],
  ] as const) {
    assert.equal(notes.observe(note(why, reason)), undefined, reason);
  }
  for (const [on, uid] of [
    ["spec.containers{app}", "u1"],
    ["spec.containers{other}", "u1"],
    ["spec.containers{app}", "u2"],
  ] as const) {
    assert.equal(notes.observe(note("no", "Failed", on, uid))?.times, 1);
  }
  for (const more of [0, 1]) {
    const why = `${"x".repeat(EXPLANATION_BYTES_MAX)}${"y".repeat(more)}`;
    const kept = new NoteDeduplicator().observe(note(why))?.why;
    assert.equal(kept, "x".repeat(EXPLANATION_BYTES_MAX));
  }
});
