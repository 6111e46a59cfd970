import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalJson } from "./canonical-json.ts";

test("canonicalJson ignores the order of keys and undefined fields, not the order of lists", () => {
  assert.equal(canonicalJson({ b: [{ d: 1, c: 2 }], a: undefined }), canonicalJson({ b: [{ c: 2, d: 1 }] }));
  assert.notEqual(canonicalJson({ a: [1, 2] }), canonicalJson({ a: [2, 1] }));
});

test("canonicalJson parses back to an equal value", () => {
  const value = { z: [null, true, "ä\n"], a: { y: 1.5, x: {} } };
  assert.deepEqual(JSON.parse(canonicalJson(value)), value);
});
