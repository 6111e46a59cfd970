import assert from "node:assert/strict";
import { test } from "node:test";
import { filesAtOnce } from "./pace.ts";

test("as many files as usual run at once up to a fixed work of 600 ms", () => {
  assert.deepEqual(
    [undefined, 280, 495, 600].map((ms) => filesAtOnce(4, ms)),
    [4, 4, 4, 4],
  );
});

test("fewer files run at once on a slow machine, at least half of the usual number", () => {
  assert.deepEqual(
    [650, 700, 760, 1_130, 5_000].map((ms) => filesAtOnce(4, ms)),
    [3, 2, 2, 2, 2],
  );
  assert.deepEqual(
    [3, 2, 1].map((usual) => filesAtOnce(usual, 760)),
    [2, 1, 1],
  );
});
