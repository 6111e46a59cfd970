import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { turnOrder } from "./subjects.ts";

describe("the order of turns", () => {
  const orders = (subjects: string, rounds: number) =>
    Array.from({ length: rounds }, (_, index) => turnOrder(subjects.split(""), index + 1).join(""));

  test("the first round keeps the order of the subjects", () => {
    assert.deepEqual(orders("abc", 1), ["abc"]);
  });

  test("two subjects alternate", () => {
    assert.deepEqual(orders("ab", 4), ["ab", "ba", "ba", "ab"]);
  });

  test("six rounds of three subjects are all six orders, and the seventh is the first again", () => {
    assert.equal(new Set(orders("abc", 6)).size, 6);
    assert.equal(orders("abc", 7).at(-1), "abc");
  });

  test("a round for each subject puts each subject in each place", () => {
    const rounds = orders("abcde", 5);
    for (const place of [0, 1, 2, 3, 4]) assert.equal(new Set(rounds.map((order) => order[place])).size, 5);
  });
});
