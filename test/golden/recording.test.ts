import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { basename } from "node:path";
import { describe, test } from "node:test";
import { differingLeaves, leafCount, neutralJson } from "./answers.ts";
import { ANSWERS_MAX, distinctAnswers, GOLDEN_DIRECTORY, readRecording } from "./recording.ts";
import { VARIATIONS } from "./variations.ts";

describe("answers as JSON", () => {
  test("maps, sets, big integers and undefined fields become plain JSON with sorted keys", () => {
    const value = { b: new Map([["x", 1n]]), a: new Set(["z", "y"]), c: undefined };
    assert.equal(JSON.stringify(neutralJson(value)), '{"a":["y","z"],"b":{"x":"1"}}');
  });

  test("differingLeaves names each place, and nothing for equal answers", () => {
    assert.deepEqual(differingLeaves({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), []);
    assert.equal(differingLeaves({ a: 1, b: { c: 2 } }, { b: { c: 3 }, d: 4 }).length, 3);
    assert.match(differingLeaves({ a: [1, 2] }, { a: [1] })[0] ?? "", /^\.a\n.*only Go +\[2\]/);
  });

  test("leafCount counts single values", () => {
    assert.equal(leafCount({ a: [1, 2], b: { c: "x", d: null } }), 4);
  });
});

test("distinctAnswers keeps, of answers that are equal after rewriting, one that the rewriting changes", () => {
  const rewrite = (answer: unknown) => String(answer).replace(/ x\d+$/, "");
  assert.deepEqual(distinctAnswers(["a", "a x2", "b", "a x3", "b"], rewrite), ["a x2", "b"]);
});

describe("the recordings of the Go kubelet", () => {
  const suites = globSync("*.jsonl", { cwd: GOLDEN_DIRECTORY }).map((file) => basename(file, ".jsonl"));
  const varying = suites.flatMap((suite) =>
    readRecording(suite).flatMap(({ question, answers }) => (answers.length > 1 ? [{ suite, question, answers }] : [])),
  );
  const explains = (reason: (typeof VARIATIONS)[number], one: (typeof varying)[number]) =>
    reason.suite === one.suite && reason.question.test(one.question);

  test(`hold at most ${ANSWERS_MAX} answers to a question, and a reason where there is more than one`, () => {
    const unexplained = varying.filter(
      (one) => one.answers.length > ANSWERS_MAX || !VARIATIONS.some((reason) => explains(reason, one)),
    );
    assert.deepEqual(
      unexplained.map(({ suite, question, answers }) => `${suite}: ${question}: ${answers.length}`),
      [],
    );
  });

  test("need every reason in VARIATIONS", () => {
    const unneeded = VARIATIONS.filter((reason) => !varying.some((one) => explains(reason, one)));
    assert.deepEqual(
      unneeded.map(({ suite, question }) => `${suite}: ${question.source}`),
      [],
    );
  });
});
