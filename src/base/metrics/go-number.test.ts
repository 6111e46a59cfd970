import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { goNumber } from "./go-number.ts";

void test("goNumber writes numbers in Go's shortest form", () => {
  const written: readonly (readonly [number, string])[] = [
    [0, "0"],
    [-0, "0"],
    [1, "1"],
    [-1, "-1"],
    [0.005, "0.005"],
    [0.0001, "0.0001"],
    [0.000099, "9.9e-05"],
    [999_999, "999999"],
    [999_999.5, "999999.5"],
    [1_000_000, "1e+06"],
    [1_234_567, "1.234567e+06"],
    [1_700_000_000.125, "1.700000000125e+09"],
    [-2_500_000, "-2.5e+06"],
    [1e21, "1e+21"],
    [1.5e-300, "1.5e-300"],
    [Number.MAX_VALUE, "1.7976931348623157e+308"],
    [Number.POSITIVE_INFINITY, "+Inf"],
    [Number.NEGATIVE_INFINITY, "-Inf"],
    [Number.NaN, "NaN"],
  ];
  assert.deepEqual(
    written.map(([value]) => goNumber(value)),
    written.map(([, text]) => text),
  );
});

void test("goNumber output parses back to the same number", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      assert.equal(Number(goNumber(value)), value === 0 ? 0 : value);
    }),
  );
});
