import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { repositoryRoot } from "../repository.ts";
import { suiteBatches, suiteNames, suites } from "./suites.ts";

describe("the batches of a suite", () => {
  for (const name of suiteNames) {
    test(`${name}: every file is in one of them, and none that is named is missing`, () => {
      const suite = suites[name];
      const files = suiteBatches(suite, repositoryRoot, []).flatMap((batch) => [
        ...batch.files,
        ...(batch.beside?.files ?? []),
      ]);
      assert.ok(files.length > (name === "guest" ? 5 : 10));
      assert.equal(new Set(files).size, files.length);
      const named = [...suite.first, ...suite.measuring.files, ...suite.alone, ...suite.besideAlone];
      assert.deepEqual(
        named.filter((file) => !files.includes(file)),
        [],
      );
      assert.deepEqual(files.slice(0, suite.first.length), suite.first);
    });
  }

  test("what is asked for by a part of its path is run as in the whole suite", () => {
    const batches = suiteBatches(suites.integration, repositoryRoot, [
      "proofs/mounts",
      "switch-over",
      "tracing",
      "cluster-ends",
    ]);
    assert.deepEqual(
      batches.map(({ files }) => files),
      [
        [
          "test/integration/switch-over.test.ts",
          "test/integration/switch-over-volumes.test.ts",
          "test/integration/tracing.test.ts",
        ],
        ["test/proofs/mounts.proof.ts"],
        ["test/integration/cluster-ends.test.ts"],
      ],
    );
  });
});
