import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { goldenLines } from "../../test/support/golden.ts";
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
  subtractQuantities,
  wholeQuantity,
} from "./quantity.ts";

interface Parsed {
  readonly in: string;
  readonly error?: string;
  readonly canonical: string;
  readonly format: string;
  readonly value: string;
  readonly milli: string;
}

interface Computed {
  readonly a: string;
  readonly b: string;
  readonly sum: string;
  readonly difference: string;
  readonly compare: number;
}

/** Some recorded values of negative fractions and of values beyond an int64 wrapped around in Go; ours do not. */
const comparable = (value: bigint) => value >= 0n && BigInt.asIntN(64, value) === value;

void test("quantities parse, fail and print as in Go", () => {
  const vectors = goldenLines("quantity-parse.jsonl") as readonly Parsed[];
  assert.ok(vectors.length > 350);
  for (const vector of vectors) {
    if (vector.error !== undefined) {
      assert.throws(() => parseQuantity(vector.in), { name: "QuantityError", message: vector.error }, vector.in);
      continue;
    }
    const quantity = parseQuantity(vector.in);
    assert.equal(quantity.format, vector.format, vector.in);
    assert.equal(formatQuantity(quantity), vector.canonical, vector.in);
    const [value, milli] = [quantityValue(quantity), quantityMilliValue(quantity)];
    if (comparable(value)) assert.equal(String(value), vector.value, vector.in);
    if (comparable(milli)) assert.equal(String(milli), vector.milli, vector.in);
  }
});

void test("negative quantities are rounded away from zero", () => {
  assert.equal(quantityValue(parseQuantity("-1.5")), -2n);
  assert.equal(quantityMilliValue(parseQuantity("-100u")), -1n);
  assert.equal(quantityValue(parseQuantity("-9Ei")), -(2n ** 63n - 1n));
});

void test("sums, differences and comparisons are those of Go", () => {
  const vectors = goldenLines("quantity-arithmetic.jsonl") as readonly Computed[];
  assert.equal(vectors.length, 300);
  for (const { a, b, sum, difference, compare } of vectors) {
    const [x, y] = [parseQuantity(a), parseQuantity(b)];
    assert.equal(formatQuantity(addQuantities(x, y)), sum, `${a} + ${b}`);
    assert.equal(formatQuantity(subtractQuantities(x, y)), difference, `${a} - ${b}`);
    assert.equal(compareQuantities(x, y), compare, `${a} <=> ${b}`);
  }
});

const quantities: fc.Arbitrary<Quantity> = fc.record({
  nanos: fc.bigInt({ min: -(10n ** 27n), max: 10n ** 27n }),
  format: fc.constantFrom("BinarySI", "DecimalSI", "DecimalExponent"),
});

void test("a canonical quantity parses back to the same amount and text", () => {
  fc.assert(
    fc.property(quantities, (quantity) => {
      const text = formatQuantity(quantity);
      const again = parseQuantity(text);
      assert.equal(again.nanos, quantity.nanos);
      assert.equal(formatQuantity(again), text);
    }),
  );
});

void test("(a + b) - b is a, and comparison follows the sign of the difference", () => {
  fc.assert(
    fc.property(quantities, quantities, (a, b) => {
      assert.equal(subtractQuantities(addQuantities(a, b), b).nanos, a.nanos);
      const difference = subtractQuantities(a, b).nanos;
      assert.equal(compareQuantities(a, b), difference < 0n ? -1 : difference > 0n ? 1 : 0);
    }),
  );
});

void test("a huge exponent, which the API server accepts, is more than any real amount, or the least one", () => {
  for (const text of ["1e5001", "1e999999999"]) {
    assert.equal(compareQuantities(parseQuantity(text), parseQuantity("1e99")), 1);
    assert.equal(formatQuantity(parseQuantity(text)), "10e99");
  }
  assert.equal(formatQuantity(parseQuantity("1e-999999999")), "1e-9");
});

void test("a quantity beyond the largest suffix keeps its digits", () => {
  assert.equal(formatQuantity(parseQuantity("1000000E")), "1000000E");
  assert.equal(formatQuantity(wholeQuantity(2n ** 70n, "BinarySI")), "1024Ei");
});
