import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { type Timed, TimeHeap } from "./time-heap.ts";

/** The expected result: sorts the whole list on every call. */
const earliestOf = (items: readonly Timed[]): Timed | undefined =>
  items.toSorted((a, b) => a.atMs - b.atMs || a.order - b.order)[0];

const step = fc.oneof(
  fc.record({ kind: fc.constant("add" as const), atMs: fc.integer({ min: 0, max: 20 }) }),
  fc.record({ kind: fc.constant("cancel" as const), which: fc.nat() }),
  fc.record({ kind: fc.constant("take" as const), untilMs: fc.integer({ min: 0, max: 25 }) }),
);

test("TimeHeap returns the earliest item, in insertion order among equals, under random operations", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const heap = new TimeHeap<Timed>();
      let held: readonly Timed[] = [];
      for (const [order, each] of steps.entries()) {
        if (each.kind === "add") {
          const item = { atMs: each.atMs, order };
          heap.add(item);
          held = [...held, item];
        } else {
          const earliest = earliestOf(held);
          const isDue = each.kind === "take" && earliest !== undefined && earliest.atMs <= each.untilMs;
          const gone = each.kind === "cancel" ? held[each.which % held.length] : isDue ? earliest : undefined;
          if (each.kind === "take") assert.equal(heap.takeDue(each.untilMs), gone);
          else if (gone !== undefined) heap.cancel(gone);
          held = held.filter((item) => item !== gone);
        }
        assert.deepEqual([heap.size, heap.first()], [held.length, earliestOf(held)]);
      }
    }),
  );
});
