import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { describe, test } from "node:test";
import { repositoryRoot } from "../repository.ts";
import { suiteBatches, suiteNames, suites } from "./suites.ts";

describe("batches of a suite", () => {
  for (const name of suiteNames) {
    test(`${name}: every file is in exactly one batch, and every file named in the suite exists`, () => {
      const suite = suites[name];
      const files = suiteBatches(suite, repositoryRoot, []).flatMap((batch) => batch.files);
      assert.ok(files.length > { unit: 300, simulator: 40, integration: 60, harness: 1, guest: 5 }[name]);
      assert.equal(new Set(files).size, files.length);
      const named = [...suite.first, ...suite.measuring.files];
      assert.deepEqual(
        named.filter((file) => !files.includes(file)),
        [],
      );
      assert.deepEqual(files.slice(0, suite.first.length), suite.first);
    });
  }

  test("every test file is in exactly one suite", () => {
    const files = suiteNames.flatMap((name) =>
      suiteBatches(suites[name], repositoryRoot, []).flatMap((batch) => batch.files),
    );
    assert.equal(new Set(files).size, files.length);
    // `test/installed` belongs to a proof.
    const all = globSync("{src,sim,test/!(installed),tools,bench}/**/*.test.ts", { cwd: repositoryRoot });
    assert.deepEqual(
      all.filter((file) => !files.includes(file)),
      [],
    );
  });

  test("files selected by a part of their path run in the same batches and order as in the whole suite", () => {
    const batches = suiteBatches(suites.integration, repositoryRoot, [
      "proofs/mounts",
      "switch-over",
      "tracing",
      "test/integration/cluster-ends",
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
      ],
    );
  });
});
