import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { inRepository } from "../../tools/repository.ts";
import { featureOf, rowsOf } from "./features.ts";

describe("the feature that a rejected field belongs to", () => {
  for (const [field, feature] of [
    ["spec.volumes[2].csi", "CSI volumes"],
    ["spec.volumes[0].projected.sources[1].clusterTrustBundle", "other projected sources"],
    ["spec.volumes[0].nfs", "other volumes"],
    ["spec.containers[0].somethingNew", "spec.containers.somethingNew"],
  ] as const) {
    test(`${field}: ${feature}`, () => assert.equal(featureOf(field), feature));
  }

  test("every field that a pod is rejected for has a feature whose rows are in the ledger", () => {
    const source = readFileSync(inRepository("src/domain/admission/unsupported-fields.ts"), "utf8");
    const ids = new Set(readFileSync(inRepository("compat/ids.yaml"), "utf8").split(/\s+/));
    const fields = [...source.matchAll(/^ {2}\["([^"]+)", \(/gm)].map(([, field = ""]) =>
      field.startsWith("spec.") ? field : `spec.containers[0].${field}`,
    );
    assert.ok(fields.length > 1, `${fields.length} fields`);
    for (const field of fields) {
      const rows = rowsOf(featureOf(field))?.split(/, | to /) ?? [];
      assert.ok(rows.length > 0, `${field} has no rows`);
      for (const row of rows) assert.ok(ids.has(row), `${field}: there is no row ${row}`);
    }
  });
});
