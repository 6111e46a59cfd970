import assert from "node:assert/strict";
import { test } from "node:test";
import { filesAtOnce } from "./pace.ts";

test("runs the usual number of files at once up to a fixed work of 600 ms", () => {
  assert.deepEqual(
    [undefined, 280, 495, 600].map((ms) => filesAtOnce(4, ms)),
    [4, 4, 4, 4],
  );
});

test("runs fewer files at once on a slow machine, but at least half of the usual number", () => {
  assert.deepEqual(
    [650, 700, 760, 1_130, 5_000].map((ms) => filesAtOnce(4, ms)),
    [3, 2, 2, 2, 2],
  );
  assert.deepEqual(
    [3, 2, 1].map((usual) => filesAtOnce(usual, 760)),
    [2, 1, 1],
  );
});
