import assert from "node:assert/strict";
import { test } from "node:test";
import { goldenJson } from "../../../test/support/golden.ts";
import { containerHash } from "./container-hash.ts";

interface Golden {
  readonly hashes: readonly { readonly name: string; readonly image: string; readonly hash: string }[];
}

void test("[27.2.6] test_container with foo/image:v1 hashes to 8e45cbd0", () => {
  assert.equal(containerHash({ name: "test_container", image: "foo/image:v1" }), "8e45cbd0");
});

void test("[27.2.6] container hashes equal the Go kubelet's, also for escaped and non-ASCII names and leading zeros", () => {
  const { hashes } = goldenJson("container-hash.json") as Golden;
  assert.ok(hashes.some(({ hash }) => hash.length < 8));
  for (const { name, image, hash } of hashes) assert.equal(containerHash({ name, image }), hash, `${name} ${image}`);
});
