import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { candidatesOf, turnOrder } from "./candidates.ts";

describe("candidates of a run", () => {
  for (const { only, isAgainst, expected } of [
    { only: undefined, isAgainst: false, expected: ["bare", "go", "deckhand"] },
    { only: "deckhand,bare", isAgainst: false, expected: ["bare", "deckhand"] },
    { only: undefined, isAgainst: true, expected: ["deckhand", "before", "before again"] },
    { only: "before,go,deckhand", isAgainst: true, expected: ["go", "deckhand", "before", "before again"] },
    { only: "before", isAgainst: true, expected: ["before", "before again"] },
    { only: "go,deckhand", isAgainst: true, expected: undefined },
    { only: "before", isAgainst: false, expected: undefined },
    { only: "before again", isAgainst: true, expected: undefined },
    { only: "deckhand,nobody", isAgainst: false, expected: undefined },
    { only: "", isAgainst: false, expected: undefined },
  ] as const) {
    const options = `${only === undefined ? "no --only" : `--only "${only}"`}${isAgainst ? " --against" : ""}`;
    test(`${options}: ${expected?.join(", ") ?? "usage error"}`, () => {
      assert.deepEqual(candidatesOf(only, isAgainst), expected);
    });
  }
});

describe("order of turns", () => {
  const orders = (candidates: string, rounds: number) =>
    Array.from({ length: rounds }, (_, index) => turnOrder(candidates.split(""), index + 1).join(""));

  test("the first round keeps the order of the candidates", () => {
    assert.deepEqual(orders("abc", 1), ["abc"]);
  });

  test("two candidates alternate", () => {
    assert.deepEqual(orders("ab", 4), ["ab", "ba", "ba", "ab"]);
  });

  test("six rounds of three candidates are all six orders, and the seventh is the first again", () => {
    assert.equal(new Set(orders("abc", 6)).size, 6);
    assert.equal(orders("abc", 7).at(-1), "abc");
  });

  test("as many rounds as candidates put each candidate in each place once", () => {
    const rounds = orders("abcde", 5);
    for (const place of [0, 1, 2, 3, 4]) assert.equal(new Set(rounds.map((order) => order[place])).size, 5);
  });
});
