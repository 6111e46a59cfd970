import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { goldenJson } from "../../test/support/golden.ts";
import { formatGoDuration, parseGoDuration } from "./duration.ts";

interface Vector {
  readonly in: string;
  readonly error?: string;
  readonly ns: string;
  readonly text: string;
}

void test("texts parse, fail and print as Go's do", () => {
  const vectors = goldenJson("duration.json") as readonly Vector[];
  assert.ok(vectors.length > 50);
  for (const vector of vectors) {
    if (vector.error !== undefined) {
      assert.throws(() => parseGoDuration(vector.in), { name: "DurationError", message: vector.error }, vector.in);
    } else {
      assert.equal(String(parseGoDuration(vector.in)), vector.ns, vector.in);
      assert.equal(formatGoDuration(BigInt(vector.ns)), vector.text, vector.in);
    }
  }
});

void test("what is printed reads back as the same duration", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (durationNs) => {
      assert.equal(parseGoDuration(formatGoDuration(durationNs)), durationNs);
    }),
  );
});
