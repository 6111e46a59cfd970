import assert from "node:assert/strict";
import { test } from "node:test";
import { MIRRORED } from "../cluster/images.ts";
import { CONFORMANCE_IMAGE_NAMES } from "./images.ts";
import { WANTED } from "./upstream-images.ts";

for (const [id, name] of Object.entries(WANTED)) {
  test(`the image the tests call ${id} is made`, () => {
    assert.ok(CONFORMANCE_IMAGE_NAMES.includes(name), name);
  });
}

test("every image is of a registry that the nodes send to the local one", () => {
  const elsewhere = CONFORMANCE_IMAGE_NAMES.filter(
    (name) => !MIRRORED.some((registry) => name.startsWith(`${registry}/`)),
  );
  assert.deepEqual(elsewhere, []);
});

test("nothing is made under the names that the tests of failing pulls expect not to find", () => {
  assert.deepEqual(
    CONFORMANCE_IMAGE_NAMES.filter((name) => /invalid|k8s-authenticated-test|google_samples/.test(name)),
    [],
  );
});
