import assert from "node:assert/strict";
import { test } from "node:test";
import { joinPath } from "./join-path.ts";

test('joinPath drops empty parts and ".", and never leaves the root through ".."', () => {
  assert.equal(joinPath("/var/lib", "seccomp", "a.json"), "/var/lib/seccomp/a.json");
  assert.equal(joinPath("/a/", "/b//./c/"), "/a/b/c");
  assert.equal(joinPath("/a/b", "../../../c"), "/c");
  assert.equal(joinPath("/", ""), "/");
});
