import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { goldenJson } from "../../test/support/golden.ts";
import { DurationError, formatGoDuration, parseGoDuration } from "./duration.ts";

interface Vector {
  readonly in: string;
  readonly error?: string;
  readonly ns: string;
  readonly text: string;
}

void test("durations parse, fail and print as in Go", () => {
  const vectors = goldenJson("duration.json") as readonly Vector[];
  assert.ok(vectors.length > 50);
  for (const vector of vectors) {
    if (vector.error !== undefined) {
      assert.throws(
        () => parseGoDuration(vector.in),
        (error) => error instanceof DurationError && error.message === vector.error,
        vector.in,
      );
    } else {
      assert.equal(String(parseGoDuration(vector.in)), vector.ns, vector.in);
      assert.equal(formatGoDuration(BigInt(vector.ns)), vector.text, vector.in);
    }
  }
});

void test("formatted durations parse back to the same value", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (durationNs) => {
      assert.equal(parseGoDuration(formatGoDuration(durationNs)), durationNs);
    }),
  );
});
