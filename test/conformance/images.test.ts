import assert from "node:assert/strict";
import { test } from "node:test";
import { MIRRORED } from "../cluster/images.ts";
import { CONFORMANCE_IMAGE_NAMES } from "./images.ts";
import { WANTED } from "./upstream-images.ts";

for (const [id, name] of Object.entries(WANTED)) {
  test(`image that the tests call ${id} is built`, () => {
    assert.ok(CONFORMANCE_IMAGE_NAMES.includes(name), name);
  });
}

test("every image is of a registry that the nodes redirect to the local registry", () => {
  const elsewhere = CONFORMANCE_IMAGE_NAMES.filter(
    (name) => !MIRRORED.some((registry) => name.startsWith(`${registry}/`)),
  );
  assert.deepEqual(elsewhere, []);
});

test("no image has a name that the tests of failing pulls expect to be missing", () => {
  assert.deepEqual(
    CONFORMANCE_IMAGE_NAMES.filter((name) => /invalid|k8s-authenticated-test|google_samples/.test(name)),
    [],
  );
});
