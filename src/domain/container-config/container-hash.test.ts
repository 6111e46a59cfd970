import assert from "node:assert/strict";
import { test } from "node:test";
import { goldenJson } from "../../../test/support/golden.ts";
import { containerHash } from "./container-hash.ts";

interface Golden {
  readonly hashes: readonly { readonly name: string; readonly image: string; readonly hash: string }[];
}

void test("[27.2.6] the published vector", () => {
  assert.equal(containerHash({ name: "test_container", image: "foo/image:v1" }), "8e45cbd0");
});

void test("[27.2.6] names and images hash as the Go kubelet hashes them: escaped, not ASCII, leading zeros dropped", () => {
  const { hashes } = goldenJson("container-hash.json") as Golden;
  assert.ok(hashes.some(({ hash }) => hash.length < 8));
  for (const { name, image, hash } of hashes) assert.equal(containerHash({ name, image }), hash, `${name} ${image}`);
});
