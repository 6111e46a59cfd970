import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, test } from "node:test";
import { inRepository } from "../../tools/repository.ts";
import { proofBatches } from "../../tools/testing/proof-files.ts";
import { DIFFERS_FROM_RECORDING } from "../golden/recording.ts";
import { MUTANT_AREAS } from "./mutants.ts";
import { differs, joined, mutated, outcomesIn } from "./run-mutant.ts";

const MUTANTS = MUTANT_AREAS.flatMap(({ mutants }) => mutants);

describe("the list of mutants", () => {
  test("has at least 40 mutants, and at least three per area", () => {
    assert.ok(MUTANTS.length >= 40, String(MUTANTS.length));
    assert.deepEqual(
      MUTANT_AREAS.map(({ area }) => area),
      ["admission", "restart policy", "probes", "volumes", "environment", "status", "resize", "cgroups", "API answers"],
    );
    for (const { area, mutants } of MUTANT_AREAS) assert.ok(mutants.length >= 3, area);
    assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length);
  });

  for (const mutant of MUTANTS) {
    test(`${mutant.file}: ${mutant.name}`, () => {
      assert.match(mutant.file, /^src\//);
      mutated(readFileSync(inRepository(mutant.file), "utf8"), mutant);
      assert.ok(existsSync(inRepository(`test/integration/${mutant.suite}.test.ts`)), mutant.suite);
      assert.doesNotThrow(() => [mutant.cases, mutant.tests ?? ""].map((pattern) => new RegExp(pattern)));
    });
  }

  test("every area has a proof file", () => {
    const files = proofBatches("mutants").flatMap((batch) => batch.files);
    assert.deepEqual(
      files.map((file) => basename(file, ".proof.ts")).toSorted(),
      MUTANT_AREAS.map(({ area }) => area.toLowerCase().replaceAll(" ", "-")).toSorted(),
    );
  });
});

describe("a mutant", () => {
  const mutant = { name: "a", file: "src/a.ts", find: "1 + 1", replace: "$&", suite: "s", cases: "." };

  test("replaces its text literally, and fails unless the text occurs exactly once", () => {
    assert.equal(mutated("const a = 1 + 1;", mutant), "const a = $&;");
    assert.throws(() => mutated("const a = 2;", mutant), /0 times/);
    assert.throws(() => mutated("1 + 1; 1 + 1", mutant), /2 times/);
  });

  test("is found by a failed comparison, not by another failure", () => {
    const line = (passed: boolean, message: string) => `${JSON.stringify({ name: "t", passed, message })}\n`;
    const output = `noise\n${line(false, `x: ${DIFFERS_FROM_RECORDING}: 1`)}${line(false, "timed out")}${line(true, "")}`;
    assert.deepEqual(outcomesIn(output).map(differs), [true, false, false]);
  });

  test("shares its control run with other mutants of its suite", () => {
    const selection = { suite: "s", cases: "^a$", tests: "1" };
    assert.deepEqual(joined([selection, { ...selection, cases: "^b$" }]), {
      suite: "s",
      cases: "(?:^a$)|(?:^b$)",
      tests: "(?:1)",
    });
    assert.equal(joined([selection, { suite: "s", cases: "^b$" }]).tests, undefined);
  });
});
