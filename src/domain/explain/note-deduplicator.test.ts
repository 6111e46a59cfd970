import assert from "node:assert/strict";
import { test } from "node:test";
import { EXPLANATION_BYTES_MAX } from "../limits.ts";
import { NoteDeduplicator } from "./note-deduplicator.ts";

const note = (why: string, reason = "Failed", on = "spec.containers{app}", uid = "u1") => ({ uid, on, reason, why });

test("keeps a cause at every doubling of its count when only numbers in its text differ", () => {
  const notes = new NoteDeduplicator();
  const kept = Array.from({ length: 1000 }, (_, index) =>
    notes.observe(note(`dial 10.0.0.${index}: refused, request 5e6f7a8b9c0d1e2f${index}`)),
  ).flatMap((each) => each?.times ?? []);
  assert.deepEqual(kept, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
});

test("keeps fewer than 30 of 2000 notes of two causes that alternate", () => {
  const notes = new NoteDeduplicator();
  let kept = 0;
  for (let turn = 0; turn < 1000; turn += 1) {
    for (const why of ["no image", "no volume"]) if (notes.observe(note(why)) !== undefined) kept += 1;
  }
  assert.ok(kept < 30, `${kept} records`);
  assert.equal(notes.observe(note("something else"))?.times, 1);
});

test("keeps a cause that returns after another, and every Started", () => {
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

test("drops echoes, counts each pod and container apart, and cuts texts at EXPLANATION_BYTES_MAX", () => {
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
