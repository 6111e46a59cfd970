import assert from "node:assert/strict";
import { test } from "node:test";
import { boundedText } from "./cut-text.ts";

test("boundedText cuts a longer text at a whole character and appends the number of missing ones", () => {
  assert.equal(boundedText("four", 4), "four");
  assert.equal(boundedText("fourteen", 4), "four... (4 more characters)");
  assert.equal(boundedText("aéé", 4), "aé... (1 more characters)");
});
