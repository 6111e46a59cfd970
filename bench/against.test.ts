import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { compare } from "./against.ts";
import type { Figure } from "./candidates.ts";

const medians = (deckhand: number, before: number, again: number) => ({
  deckhand: { median: deckhand },
  before: { median: before },
  "before again": { median: again },
});
const verdict = (unit: Figure["unit"], ...values: Parameters<typeof medians>) =>
  compare(unit, medians(...values))?.verdict;

describe("comparison with an earlier commit", () => {
  for (const [what, unit, [deckhand, before, again], expected] of [
    ["5 % more", "ms", [105, 100, 100], "same"],
    ["5 % more of a value whose share is not exact", "ms", [1.05, 1, 1], "same"],
    ["5.01 % more", "ms", [105.01, 100, 100], "slower"],
    ["5 % less", "ms", [95, 100, 100], "same"],
    ["5.01 % less", "ms", [94.99, 100, 100], "faster"],
    ["as far off as the two sets are apart", "ms", [120, 90, 110], "same"],
    ["farther off than the two sets are apart", "ms", [120.1, 90, 110], "slower"],
    ["as far below as the two sets are apart", "ms", [80, 110, 90], "same"],
    ["farther below than the two sets are apart", "ms", [79.9, 110, 90], "faster"],
    ["equal to one set, and 10 % from the mean", "ms", [100, 100, 122], "same"],
    ["zero everywhere", "requests", [0, 0, 0], "same"],
    ["zero before and something now", "requests", [0.1, 0, 0], "more"],
    ["zero in one set and as much now as in the other", "probes", [1, 0, 1], "same"],
    ["zero now", "probes", [0, 10, 10], "less"],
    ["a negative value, 5 % off", "CPU-ms", [-1.05, -1, -1], "same"],
    ["a negative value that becomes larger", "CPU-ms", [-0.9, -1, -1], "more"],
  ] as const) {
    test(`${what}: ${expected}`, () => assert.equal(verdict(unit, deckhand, before, again), expected));
  }

  for (const [unit, more, less] of [
    ["ms", "slower", "faster"],
    ["s", "slower", "faster"],
    ["CPU-ms", "more", "less"],
    ["CPU-s", "more", "less"],
    ["CPU-s/min", "more", "less"],
    ["MB", "more", "less"],
    ["requests", "more", "less"],
    ["probes", "more", "less"],
    ["bytes", "more", "less"],
  ] as const) {
    test(`${unit}: ${more} or ${less}`, () => {
      assert.deepEqual([verdict(unit, 3, 2, 2), verdict(unit, 1, 2, 2)], [more, less]);
    });
  }

  test("percentages are relative to the mean of the two sets", () => {
    const { differencePercent, noisePercent } = compare("ms", medians(220, 190, 210)) ?? {};
    assert.deepEqual([differencePercent, noisePercent], [10, 10]);
    assert.equal(compare("CPU-ms", medians(-1.5, -2, -2))?.differencePercent, 25);
  });

  test("a mean of 0 gives no difference in percent, but noise of 0 % when both sets are 0", () => {
    const { differencePercent, noisePercent } = compare("MB", medians(1, 0, 0)) ?? {};
    assert.deepEqual([differencePercent, noisePercent], [undefined, 0]);
  });

  test("a median that is missing or NaN gives no verdict", () => {
    const { deckhand, before } = medians(1, 1, 1);
    assert.equal(compare("ms", { deckhand, before }), undefined);
    assert.equal(compare("ms", { before, "before again": before }), undefined);
    assert.equal(compare("ms", medians(1, 1, Number.NaN)), undefined);
  });
});
