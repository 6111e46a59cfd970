import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { inRepository } from "../../tools/repository.ts";
import { focusOf, namesUnder, passingText, raised, readNames, regressions, sections } from "./ratchet.ts";
import { places } from "./report-file.ts";
import type { Report, TestOutcome } from "./results.ts";

const read = (path: string) => readFileSync(inRepository(path), "utf8");
const outcome = (name: string, passes: number, fails: number): TestOutcome => ({ name, passes, fails, seconds: 1 });
const report = (...tests: readonly TestOutcome[]): Report => ({
  agent: "deckhand",
  date: "2026-11-16",
  runs: 1,
  versions: { kubernetes: "v1.36.4" },
  wallSeconds: {},
  tests,
});

describe("the list of passing tests", () => {
  test("is written sorted with an explanatory header, and read back as written", () => {
    const source = passingText(["b", "a"]);
    assert.match(source, /^# Upstream's tests/);
    assert.deepEqual(readNames(source), ["a", "b"]);
  });

  test("reports a listed test that ran and never passed as a regression, but not one that did not run", () => {
    const run = report(outcome("a", 0, 2), outcome("b", 1, 1), outcome("c", 0, 1));
    assert.deepEqual(regressions(["a", "b", "d"], run), ["a"]);
  });

  test("adds tests that passed and never failed, and keeps tests that failed or did not run", () => {
    const run = report(outcome("a", 0, 1), outcome("b", 1, 0), outcome("c", 1, 1));
    assert.deepEqual(raised(["d", "a"], run), ["a", "b", "d"]);
  });
});

describe("the focus", () => {
  const selects = (focus: string, name: string) => new RegExp(focus).test(`Kubernetes e2e suite ${name}`);

  test("selects the named tests, and none that only begins or ends with their names", () => {
    const names = ["[sig-x] A should (root,0644) *not* a.b? [Conformance]", "[sig-x] B"];
    const focus = focusOf(names);
    for (const name of names) assert.ok(selects(focus, name), name);
    for (const name of [
      `${names[1]} more`,
      `[sig-x] before ${names[1]}`,
      "[sig-x] A",
      "[sig-x] A should (root,0644) not axb",
    ]) {
      assert.ok(!selects(focus, name), name);
    }
  });

  test("is never empty: ginkgo would run everything", () => assert.throws(() => focusOf([]), /no test/));
});

describe("the subset that CI runs", () => {
  const subset = read(places.ciSubset);
  const [pods, api] = [namesUnder(subset, sections.pods), namesUnder(subset, sections.api)];

  test("has at least 60 tests, two thirds of them with pods on our node, no duplicates and none that must run alone", () => {
    const names = readNames(subset);
    assert.ok(names.length >= 60, `${names.length} tests`);
    assert.ok(pods.length * 3 >= names.length * 2, `${pods.length} of ${names.length} run pods`);
    assert.deepEqual(names.toSorted(), [...pods, ...api].toSorted());
    assert.equal(new Set(names).size, names.length);
    assert.deepEqual(
      names.filter((name) => /\[(?:Serial|Slow|Disruptive)\]/.test(name)),
      [],
    );
  });

  test("is a subset of the list of passing tests, which exists as soon as a run is recorded", () => {
    const isListed = existsSync(inRepository(places.passing));
    assert.ok(isListed || !existsSync(inRepository(places.latest)), `${places.passing} is missing`);
    const passing = new Set(readNames(isListed ? read(places.passing) : subset));
    assert.deepEqual(
      readNames(subset).filter((name) => !passing.has(name)),
      [],
    );
  });

  test("rejects a file without the section", () => assert.throws(() => namesUnder("a\n", sections.api), /API only/));
});
