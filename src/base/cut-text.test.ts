import assert from "node:assert/strict";
import { test } from "node:test";
import { boundedText } from "./cut-text.ts";

test("a text within its bound stays; a longer one says how much of it is missing, and no character is broken", () => {
  assert.equal(boundedText("four", 4), "four");
  assert.equal(boundedText("fourteen", 4), "four... (4 more characters)");
  assert.equal(boundedText("aéé", 4), "aé... (1 more characters)");
});
